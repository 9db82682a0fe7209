//! Words of the user's in pictures and pages, and what these look like.

use std::fmt;

/// The colours of states, in light and dark, and what pictures are made of.
pub(in crate::observe) const STYLE: &str = include_str!("style.css");

/// Text in XML or HTML, between tags or in an attribute. What XML can't say is left out.
pub(in crate::observe) struct Escaped<T>(pub(in crate::observe) T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for letter in self.0.to_string().chars() {
            match letter {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(' ')?,
                '\u{fffe}' | '\u{ffff}' => (),
                letter if letter.is_control() => (),
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

/// Text of so many letters at most.
pub(in crate::observe) struct Clipped<T>(pub(in crate::observe) T, pub(in crate::observe) usize);

impl<T: fmt::Display> fmt::Display for Clipped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match text.char_indices().nth(self.1) {
            None => f.write_str(&text),
            Some(_) => {
                let kept: String = text.chars().take(self.1.saturating_sub(1)).collect();
                write!(f, "{kept}…")
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_a_tag_or_an_attribute() {
        let text = Escaped("<b a='\"'>&\u{1}").to_string();
        assert_eq!(text, "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }

    #[test]
    fn long_text_is_clipped_between_letters() {
        assert_eq!(Clipped("größer", 4).to_string(), "grö…");
        assert_eq!(Clipped("grün", 4).to_string(), "grün");
    }
}

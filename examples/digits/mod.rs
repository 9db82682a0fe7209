//! The handwritten digits that several examples compute on. `README.md` beside this file says
//! where they come from; `model.rs` holds the network that was trained on half of them.

use batchyard::BoxError;

/// An image is 8 pixels high and 8 wide.
pub(crate) const SIDE: usize = 8;

/// One handwritten digit.
#[derive(Clone)]
pub(crate) struct Image {
    /// What the writer meant: 0 to 9.
    pub(crate) label: u8,
    /// How much ink, 0 to 16, row by row.
    pub(crate) pixels: [f32; SIDE * SIDE],
}

/// The images that models are trained on, and those that they are tested on.
pub(crate) type Halves = (Vec<Image>, Vec<Image>);

/// All images, in the halves that the file names.
pub(crate) fn load() -> Result<Halves, BoxError> {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for row in include_str!("digits.csv").lines().skip(1) {
        let (half, row) = row.split_once(',').ok_or("a row without a label")?;
        let (label, pixels) = row.split_once(',').ok_or("a row without pixels")?;
        let pixels: Vec<f32> = pixels
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let pixels = pixels
            .try_into()
            .map_err(|_| "an image that is not 8 by 8")?;
        let image = Image {
            label: label.parse()?,
            pixels,
        };
        if half == "train" {
            train.push(image)
        } else {
            test.push(image)
        }
    }
    Ok((train, test))
}

//! In what order nodes read their inputs: edges don't say it, and two tasks that differ in nothing else are not the same.

/// The inputs of nodes that have several.
#[derive(Default)]
pub(crate) struct InputOrder {
    last: Option<(u32, u32)>,
    pairs: Vec<(u32, u32)>,
}

impl InputOrder {
    /// A node reads another. Nodes come in order, and so do the inputs of each.
    #[inline]
    pub(super) fn note(&mut self, node: u32, input: u32) {
        if let Some(first) = self.last.filter(|(last, _)| *last == node) {
            if self.pairs.last().map(|(last, _)| *last) != Some(node) {
                self.pairs.push(first);
            }
            self.pairs.push((node, input));
        }
        self.last = Some((node, input));
    }

    pub(super) fn into_pairs(self) -> Box<[(u32, u32)]> {
        self.pairs.into()
    }
}

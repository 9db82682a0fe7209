//! The digits as image files, which is what programs that score images are given.

use crate::digits;
use batchyard::BoxError;
use std::fs;
use std::path::Path;

/// Writes the images that models are tested on, each as a plain PGM whose name ends with its label.
pub(crate) fn write_test_images(folder: &Path) -> Result<(), BoxError> {
    let (_, test) = digits::load()?;
    fs::create_dir_all(folder)?;
    for (number, image) in test.iter().enumerate() {
        let pixels = image.pixels.map(|pixel| pixel.to_string()).join(" ");
        let path = folder.join(format!("{number:04}-{}.pgm", image.label));
        fs::write(path, format!("P2 8 8 16\n{pixels}\n"))?;
    }
    Ok(())
}

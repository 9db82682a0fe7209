//! A small convolutional network that reads digits: `digits.onnx`, made by `train.py`.

use crate::digits::{Image, SIDE};
use batchyard::BoxError;
use rten::{Model, RunOptions, ThreadPool, Value};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// How many views of an image [`predict`] looks at.
const VIEWS: usize = TURNS.len() * MOVES.len() * MOVES.len();

/// In radians: up to nine degrees to either side.
const TURNS: [f32; 5] = [-0.16, -0.08, 0.0, 0.08, 0.16];
/// In pixels, across and down.
const MOVES: [f32; 3] = [-0.4, 0.0, 0.4];

/// What the network reads in an image.
#[derive(Clone, Default)]
pub(crate) struct Prediction {
    pub(crate) digit: u8,
    /// The digit's mean probability over the views.
    pub(crate) confidence: f32,
}

/// The trained network.
pub(crate) fn load() -> Result<Model, BoxError> {
    Ok(Model::load_static_slice(include_bytes!("digits.onnx"))?)
}

/// The image in one of the files that `files.rs` writes.
pub(crate) fn open(path: &Path) -> Result<Image, BoxError> {
    let (text, name) = (
        fs::read_to_string(path)?,
        path.file_stem().unwrap_or_default(),
    );
    let (_, label) = name
        .to_str()
        .and_then(|name| name.split_once('-'))
        .ok_or("a name without a label")?;
    let pixels = text
        .split_whitespace()
        .skip(4)
        .map(str::parse)
        .collect::<Result<Vec<f32>, _>>()?;
    Ok(Image {
        label: label.parse()?,
        pixels: pixels
            .try_into()
            .map_err(|_| "an image that is not 8 by 8")?,
    })
}

/// Reads the digits, on the calling thread's share of the machine alone.
///
/// The network sees each image in several views, a little turned and moved, and the mean of what it
/// says counts ("test-time augmentation"): nobody writes exactly upright in the middle of the box.
pub(crate) fn predict(model: &Model, images: &[Image]) -> Result<Vec<Prediction>, BoxError> {
    thread_local! {
        // Left alone, the runtime spreads each call over all cores, and the workers that call it at
        // the same time would only wait for each other.
        static ONE_THREAD: Arc<ThreadPool> = Arc::new(ThreadPool::with_num_threads(1));
    }
    let options = RunOptions::default().with_thread_pool(Some(ONE_THREAD.with(Arc::clone)));

    let pixels: Vec<f32> = images.iter().flat_map(views).flatten().collect();
    let pixels = Value::from_shape([images.len() * VIEWS, 1, SIDE, SIDE], pixels)?;
    let (_, probabilities) = model
        .run_one(pixels.into(), Some(options))?
        .into_shape_vec::<f32, 2>()?;

    Ok(probabilities.chunks(VIEWS * 10).map(mean).collect())
}

/// The digit that is most probable over all views of one image.
fn mean(views: &[f32]) -> Prediction {
    let mut best = Prediction::default();
    for digit in 0..10 {
        let probabilities = views.iter().skip(digit.into()).step_by(10);
        let confidence = probabilities.sum::<f32>() / VIEWS as f32;
        if confidence > best.confidence {
            best = Prediction { digit, confidence };
        }
    }
    best
}

fn views(image: &Image) -> impl Iterator<Item = [f32; SIDE * SIDE]> {
    let moves = || MOVES.into_iter().flat_map(|y| MOVES.map(|x| (x, y)));
    let poses = TURNS
        .into_iter()
        .flat_map(move |turn| moves().map(move |to| (turn, to)));
    poses.map(|(turn, to)| view(image, turn, to))
}

/// The image turned about its middle and moved, each pixel mixed from the four it then lies on.
fn view(image: &Image, turn: f32, (right, down): (f32, f32)) -> [f32; SIDE * SIDE] {
    let ink = |x: f32, y: f32| {
        let inside = 0.0..SIDE as f32;
        let on_paper = inside.contains(&x) && inside.contains(&y);
        if on_paper {
            image.pixels[y as usize * SIDE + x as usize]
        } else {
            0.0
        }
    };
    let mix = |from: f32, to: f32, share: f32| from + (to - from) * share;
    let (sin, cos) = turn.sin_cos();
    let middle = (SIDE as f32 - 1.0) / 2.0;

    std::array::from_fn(|pixel| {
        let x = (pixel % SIDE) as f32 - middle - right;
        let y = (pixel / SIDE) as f32 - middle - down;
        let (x, y) = (cos * x - sin * y + middle, sin * x + cos * y + middle);
        let (left, top) = (x.floor(), y.floor());
        let upper = mix(ink(left, top), ink(left + 1.0, top), x - left);
        let lower = mix(ink(left, top + 1.0), ink(left + 1.0, top + 1.0), x - left);
        mix(upper, lower, y - top)
    })
}

//! What decides whether, when and how often tasks run, through the public API.

mod retries;
mod time;

//! The suite that every executor passes.

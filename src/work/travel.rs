//! Bodies that run elsewhere, or ran earlier: their arguments and outputs as bytes, the types known here alone.

use crate::model::{Panic, Permanent};
use crate::work::body::{Body, Flow};
use crate::work::call::Call;
use crate::work::codec::CodecError;
#[cfg(feature = "journal")]
use crate::work::identity::{Identity, Item};
use crate::work::inputs::{Args, Places};
use crate::work::unit::{Elements, Queued, Source, Step, Task};
use crate::work::values::Values;

/// How a body's argument and output travel. Public only in name, since `Body` mentions it.
#[doc(hidden)]
#[allow(unreachable_pub, reason = "a trait of the public `Body` mentions it")]
pub trait Wire<A: Args, T> {
    /// Adds the argument's bytes.
    fn encode_argument(&self, args: A::Refs<'_>, to: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Adds the output's bytes.
    fn encode_output(&self, output: &T, to: &mut Vec<u8>) -> Result<(), CodecError>;

    fn decode_output(&self, bytes: &[u8]) -> Result<T, CodecError>;
}

/// Stores those of several outputs that may be stored: told which could be read, and given what stores one.
pub(crate) type StoreAll<'a> = &'a mut dyn FnMut(&[bool], &mut dyn FnMut(usize));

/// One node's values as bytes. Of a body that is no function, each of these is an error.
#[allow(dead_code, reason = "not every feature that needs some needs all")]
pub(crate) trait Travels {
    /// Adds the bytes of what a task, or element, reads. Asked for when all of that has succeeded.
    fn encode_argument(
        &self,
        values: &Values,
        index: u32,
        to: &mut Vec<u8>,
    ) -> Result<(), CodecError>;

    /// Adds the bytes of an output that is there, and held.
    fn encode_output(
        &self,
        values: &Values,
        index: u32,
        to: &mut Vec<u8>,
    ) -> Result<(), CodecError>;

    /// Ends a call whose body ran elsewhere, as if it had returned these bytes here. No retry could help bytes that are
    /// no output.
    fn accept(&self, call: &Call<'_>, bytes: &[u8]) -> Step;

    /// Takes the outputs of several elements, each with its index. `store` is told which of them could be read, and given
    /// what stores one: to be called where nobody can interfere, and for an attempt that is current.
    fn accept_all(&self, values: &Values, outputs: &[(u32, &[u8])], store: StoreAll<'_>);

    /// Puts the output of an earlier run in place, for a task that has not begun in this one.
    fn restore(&self, values: &Values, index: u32, bytes: &[u8]) -> Result<(), CodecError>;

    /// By what the body is known again in another process.
    #[cfg(feature = "journal")]
    fn identity(&self) -> Identity;

    /// Adds the bytes of what an element reads that is no other task's output.
    #[cfg(feature = "journal")]
    fn encode_item(&self, index: u32, to: &mut Vec<u8>) -> Result<Item, CodecError>;

    /// Lets go of an output that was held to be written down: once, after its task has succeeded.
    #[cfg(feature = "journal")]
    fn let_go(&self, values: &Values, index: u32);
}

impl<B, P, M> Travels for Task<B, P, B::Output, P::Args, M>
where
    B: Body<P::Args, M>,
    P: Places,
    M: 'static,
{
    fn encode_argument(&self, values: &Values, _: u32, to: &mut Vec<u8>) -> Result<(), CodecError> {
        wire(&self.body)?.encode_argument(self.args(values), to)
    }

    fn encode_output(&self, values: &Values, _: u32, to: &mut Vec<u8>) -> Result<(), CodecError> {
        wire(&self.body)?.encode_output(self.output.get(values, 0), to)
    }

    fn accept(&self, call: &Call<'_>, bytes: &[u8]) -> Step {
        self.end(call, returned(&self.body, bytes))
    }

    /// A task is no array.
    fn accept_all(&self, _: &Values, _: &[(u32, &[u8])], _: StoreAll<'_>) {}

    fn restore(&self, values: &Values, _: u32, bytes: &[u8]) -> Result<(), CodecError> {
        let output = wire(&self.body)?.decode_output(bytes)?;
        self.output.restore(values, 0, 1, output);
        Ok(())
    }

    #[cfg(feature = "journal")]
    fn identity(&self) -> Identity {
        self.body.identity()
    }

    #[cfg(feature = "journal")]
    fn encode_item(&self, _: u32, _: &mut Vec<u8>) -> Result<Item, CodecError> {
        Ok(Item::None)
    }

    #[cfg(feature = "journal")]
    fn let_go(&self, values: &Values, _: u32) {
        self.output.let_go(values, 0, 1);
    }
}

impl<B, P, A, M, S> Travels for Elements<B, P, B::Output, A, M, S>
where
    A: Args,
    S: Source<P, Args = A>,
    B: Body<A, M>,
    P: Places,
    M: 'static,
{
    fn encode_argument(
        &self,
        values: &Values,
        index: u32,
        to: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let index = index as usize;
        wire(&self.body)?.encode_argument(self.args(values, &index), to)
    }

    fn encode_output(
        &self,
        values: &Values,
        index: u32,
        to: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        wire(&self.body)?.encode_output(self.output.get(values, index), to)
    }

    fn accept(&self, call: &Call<'_>, bytes: &[u8]) -> Step {
        match returned(&self.body, bytes) {
            Flow::Now(value) => match self.store(call, call.index(), value) {
                true => Step::Done { release: false },
                false => Step::Stale,
            },
            Flow::Failed(error) => Step::Failed(error),
            Flow::Later(_) => Step::Stale,
        }
    }

    fn accept_all(&self, values: &Values, outputs: &[(u32, &[u8])], store: StoreAll<'_>) {
        let Ok(wire) = wire(&self.body) else { return };
        let outputs = outputs.iter();
        let (indexes, mut read): (Vec<_>, Vec<_>) = outputs
            .map(|(index, bytes)| (*index, wire.decode_output(bytes).ok()))
            .unzip();
        let readable: Vec<bool> = read.iter().map(Option::is_some).collect();
        let mut replaced = Vec::new();
        store(&readable, &mut |at| {
            if let Some(value) = read[at].take() {
                replaced.extend(self.output.replace(values, indexes[at], self.len, value));
            }
        });
        // What was not stored, and what was there before, is the user's to drop.
        Panic::ignore_dropping(read);
        Panic::ignore_dropping(replaced);
    }

    fn restore(&self, values: &Values, index: u32, bytes: &[u8]) -> Result<(), CodecError> {
        let output = wire(&self.body)?.decode_output(bytes)?;
        self.output.restore(values, index, self.len, output);
        Ok(())
    }

    #[cfg(feature = "journal")]
    fn identity(&self) -> Identity {
        self.body.identity()
    }

    #[cfg(feature = "journal")]
    fn encode_item(&self, index: u32, to: &mut Vec<u8>) -> Result<Item, CodecError> {
        if !S::STORED {
            return Ok(Item::None);
        }
        if size_of::<P>() > 0 {
            return Ok(Item::Mixed);
        }
        // There are no places, so nothing is read from there.
        self.encode_argument(&Values::new(Default::default()), index, to)?;
        Ok(Item::Encoded)
    }

    #[cfg(feature = "journal")]
    fn let_go(&self, values: &Values, index: u32) {
        self.output.let_go(values, index, self.len);
    }
}

impl Travels for Queued {
    fn accept_all(&self, values: &Values, outputs: &[(u32, &[u8])], store: StoreAll<'_>) {
        self.0.accept_all(values, outputs, store);
    }

    fn encode_argument(
        &self,
        values: &Values,
        index: u32,
        to: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.0.encode_argument(values, index, to)
    }

    fn encode_output(
        &self,
        values: &Values,
        index: u32,
        to: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.0.encode_output(values, index, to)
    }

    fn accept(&self, call: &Call<'_>, bytes: &[u8]) -> Step {
        self.0.accept(call, bytes)
    }

    fn restore(&self, values: &Values, index: u32, bytes: &[u8]) -> Result<(), CodecError> {
        self.0.restore(values, index, bytes)
    }

    #[cfg(feature = "journal")]
    fn identity(&self) -> Identity {
        self.0.identity()
    }

    #[cfg(feature = "journal")]
    fn encode_item(&self, index: u32, to: &mut Vec<u8>) -> Result<Item, CodecError> {
        self.0.encode_item(index, to)
    }

    #[cfg(feature = "journal")]
    fn let_go(&self, values: &Values, index: u32) {
        self.0.let_go(values, index);
    }
}

fn wire<A: Args, B: Body<A, M>, M>(body: &B) -> Result<&dyn Wire<A, B::Output>, CodecError> {
    body.wire().ok_or_else(CodecError::no_function::<B::Output>)
}

/// What a body that ran elsewhere gave.
fn returned<A: Args, B: Body<A, M>, M>(body: &B, bytes: &[u8]) -> Flow<B::Output> {
    match wire(body).and_then(|wire| wire.decode_output(bytes)) {
        Ok(output) => Flow::Now(output),
        Err(error) => Flow::Failed(Permanent::new(error).into()),
    }
}

//! Work on XLA's own threads, over borrowed data.
//!
//! On a machine with one thread in the pool a handler may itself run on that thread, and a task that it schedules starts
//! only after it has returned. So the calling thread must be able to finish everything alone, and never waits for a
//! task that has not begun: a gate lets tasks in, the caller closes it when no work is left, and waits for those inside.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

use serde_json::Value as Json;

use crate::abi::Frame;
use crate::param::{AttrType, Decode, Param, Role, Source};

/// XLA's intra-op thread pool, for the length of a call.
#[derive(Clone, Copy)]
pub struct ThreadPool<'f> {
    frame: Option<Frame<'f>>,
    most: usize,
}

impl<'f> ThreadPool<'f> {
    /// A pool without threads, to call a handler's function from Rust: everything runs on the calling thread.
    pub fn none() -> ThreadPool<'static> {
        ThreadPool { frame: None, most: usize::MAX }
    }

    pub(crate) fn of(frame: Frame<'f>) -> Self {
        ThreadPool { frame: Some(frame), most: usize::MAX }
    }

    /// The same pool, of which at most so many threads are used, the calling one included: waking one costs some
    /// microseconds.
    pub fn at_most(self, threads: usize) -> Self {
        ThreadPool { most: self.most.min(threads), ..self }
    }

    /// The number of threads that can work at a time, the calling one included; at least 1.
    pub fn num_threads(self) -> usize {
        self.frame.map_or(1, |frame| frame.pool_threads().min(self.most).max(1))
    }

    /// Calls `f` for each item, on this thread and whichever threads of the pool come in time. A thread takes an item when
    /// it has done the one before, in order: items should be worth a microsecond or more.
    ///
    /// A panic of `f` is carried back to the caller after the others have stopped.
    ///
    /// ```
    /// use oxidax::prelude::*;
    ///
    /// #[ffi_handler(batch = whole)]
    /// fn doubled(#[shape(.., n)] x: &[f64], #[dim] n: usize, pool: ThreadPool, #[shape(.., n)] y: &mut [f64]) {
    ///     pool.for_each(x.chunks(n.max(1)).zip(y.chunks_mut(n.max(1))), |(x, y)| {
    ///         y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * x);
    ///     });
    /// }
    /// # let mut y = [0.0; 2];
    /// # doubled(&[1.0, 2.0], 1, ThreadPool::none(), &mut y);
    /// # assert_eq!(y, [2.0, 4.0]);
    /// ```
    pub fn for_each<I>(self, items: I, f: impl Fn(I::Item) + Sync)
    where
        I: IntoIterator<IntoIter: ExactSizeIterator + Send>,
    {
        let items = items.into_iter();
        let helpers = self.num_threads().min(items.len()).saturating_sub(1);
        if helpers == 0 {
            return items.for_each(f);
        }
        let items = Mutex::new(items);
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(item) = next() {
                f(item);
            }
        };
        self.join(helpers, work, &work);
    }

    /// Runs `own` here and `help` on up to `helpers` threads of the pool, and returns when all that have begun are done.
    pub(crate) fn join(self, helpers: usize, own: impl FnOnce(), help: &(dyn Fn() + Sync)) {
        let Some(frame) = self.frame.filter(|_| helpers > 0) else { return own() };
        // SAFETY: T1: only the lifetime changes. No task calls it after `close`, which is before this function ends.
        let help: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(help) };
        let gate =
            Arc::new(Gate { state: AtomicU32::new(0), help, caller: thread::current(), panic: Mutex::new(None) });
        let closed = CloseOnDrop(&gate);
        for _ in 0..helpers {
            let data = Arc::into_raw(Arc::clone(&gate)).cast_mut().cast();
            if !frame.schedule(task, data) {
                // SAFETY: T2: the runtime refused the task, so the reference is still ours.
                drop(unsafe { Arc::from_raw(data.cast::<Gate>()) });
                break;
            }
        }
        own();
        drop(closed);
        let panic = gate.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }
}

const CLOSED: u32 = 1 << 31;

/// Who is inside: the number of tasks at work, and [`CLOSED`].
struct Gate {
    state: AtomicU32,
    /// Borrowed from the caller until the gate is closed and empty.
    help: &'static (dyn Fn() + Sync),
    caller: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Gate {
    fn enter(&self) -> bool {
        let enter = |state| (state & CLOSED == 0).then_some(state + 1);
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_ok()
    }

    fn leave(&self) {
        if self.state.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.caller.unpark();
        }
    }

    /// Lets nobody in any more, and waits for those inside.
    fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
        while self.state.load(Ordering::Acquire) != CLOSED {
            thread::park();
        }
    }
}

/// Closes also when the caller's own part panics: the borrowed closure must not outlive it.
struct CloseOnDrop<'a>(&'a Gate);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
        if thread::panicking() {
            // The caller's own panic is the one that is told. A second payload must not panic when it is dropped: here
            // that would end the process, as it would on a thread of XLA's.
            std::mem::forget(self.0.panic.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// What the pool runs, perhaps long after the call: it owns its share of the gate.
unsafe extern "C" fn task(data: *mut c_void) {
    // SAFETY: T2: the reference that was given to the runtime with this task, once.
    let gate = unsafe { Arc::from_raw(data.cast::<Gate>().cast_const()) };
    if !gate.enter() {
        return;
    }
    if let Err(payload) = catch_unwind(AssertUnwindSafe(gate.help)) {
        let mut first = gate.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(payload);
        } else {
            // It must not panic again here, on a thread of XLA's.
            std::mem::forget(payload);
        }
    }
    gate.leave();
}

// SAFETY: D1: the frame is kept for the length of the call only, and lent for no longer.
#[diagnostic::do_not_recommend]
unsafe impl Decode for ThreadPool<'_> {
    type Stored = ThreadPool<'static>;
    const ROLE: Role = Role::Context;
    const TYPE: AttrType = AttrType::Context;

    fn decode(source: &Source<'_>) -> Option<ThreadPool<'static>> {
        // SAFETY: D1: what is stored does not outlive the call.
        Some(ThreadPool::of(unsafe { source.frame().forget_lifetime() }))
    }
}

#[diagnostic::do_not_recommend]
impl<'f> Param<'f> for ThreadPool<'f> {
    fn lend(stored: &'f mut ThreadPool<'static>) -> Self {
        *stored
    }

    fn to_json(&self) -> Json {
        Json::Null
    }
}

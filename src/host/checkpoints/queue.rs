//! Tasks that beget further tasks, worked off by a few threads. Knows nothing of what they do.

use parking_lot::{Condvar, Mutex};
use std::panic;
use std::thread;

struct Queue<T, E> {
    state: Mutex<State<T, E>>,
    changed: Condvar,
}

struct State<T, E> {
    tasks: Vec<T>,
    /// How many threads are working on a task, and may add others.
    busy: usize,
    error: Option<E>,
}

/// Works off `first` and all tasks that come of it, the newest first, on `threads` threads. `work` is given the task, what
/// its thread has collected so far, and a list for new tasks. Returns what each thread has collected.
///
/// # Errors
/// The first that `work` returned; tasks that had not begun are left.
pub(super) fn work_off<T: Send, R: Default + Send, E: Send>(
    first: T,
    threads: usize,
    work: impl Fn(T, &mut R, &mut Vec<T>) -> Result<(), E> + Sync,
) -> Result<Vec<R>, E> {
    let state = Mutex::new(State { tasks: vec![first], busy: 0, error: None });
    let queue = Queue { state, changed: Condvar::new() };
    let run = || {
        let (mut collected, mut new) = (R::default(), Vec::new());
        while let Some(task) = queue.next() {
            let busy = Busy(&queue);
            let worked = work(task, &mut collected, &mut new);
            let mut state = queue.state.lock();
            state.tasks.append(&mut new);
            if let Err(error) = worked {
                state.error.get_or_insert(error);
            }
            drop(state);
            drop(busy);
        }
        collected
    };
    let collected = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut collected = vec![run()];
        for other in others {
            collected.push(other.join().unwrap_or_else(|panic| panic::resume_unwind(panic)));
        }
        collected
    });
    match queue.state.into_inner().error {
        Some(error) => Err(error),
        None => Ok(collected),
    }
}

impl<T, E> Queue<T, E> {
    /// Waits for a task; `None` if there will be none.
    fn next(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if state.error.is_some() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                return Some(task);
            }
            if state.busy == 0 {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}

/// A thread works on a task. Ends even if it panics, since others wait for that.
struct Busy<'a, T, E>(&'a Queue<T, E>);

impl<T, E> Drop for Busy<'_, T, E> {
    fn drop(&mut self) {
        self.0.state.lock().busy -= 1;
        self.0.changed.notify_all();
    }
}

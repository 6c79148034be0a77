//! Distributes a list of jobs to several threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The stack size of a thread in bytes. It is the usual size for the main thread of a process.
const STACK: usize = 8 << 20;

/// The interval of calls to `tick`.
const TICK: Duration = Duration::from_millis(200);

/// Runs `job` for each item on `threads` threads, and returns the results in the order of the items.
pub fn run<T: Sync, R: Send>(items: &[T], threads: usize, job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut results = Vec::with_capacity(items.len());
    in_order(items, threads, job, |result| results.push(result), |_| ());
    results
}

/// Runs `job` for each item like [`run`], for results that are large together. Each result is passed to `take` in the order of the items, as soon as
/// all earlier ones are finished.
///
/// `tick` is called regularly with the number of finished jobs.
pub fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    job: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R),
    mut tick: impl FnMut(usize),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let work = |results: &mpsc::Sender<(usize, R)>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            if results.send((index, job(item))).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let mut started = false;
        for _ in 0..threads.min(items.len()) {
            let sender = sender.clone();
            let thread = thread::Builder::new().stack_size(STACK);
            started |= thread.spawn_scoped(scope, move || work(&sender)).is_ok();
        }
        // The system may refuse to start threads.
        if !started {
            work(&sender);
        }
        drop(sender);
        // The results that wait for an earlier one.
        let mut early = BTreeMap::new();
        let mut taken: usize = 0;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok((index, result)) => {
                    early.insert(index, result);
                    while let Some(result) = early.remove(&taken) {
                        take(result);
                        taken += 1;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            tick(taken + early.len());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{in_order, run};

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let squares: Vec<u64> = items.iter().map(|n| n * n).collect();
        for threads in [0, 1, 3, 200] {
            let mut most = 0;
            // Later items finish sooner.
            let job = |n: &u64| {
                std::thread::sleep(std::time::Duration::from_micros(100 - n));
                n * n
            };
            let mut taken = Vec::new();
            in_order(
                &items,
                threads,
                job,
                |square| taken.push(square),
                |done| most = most.max(done),
            );
            assert_eq!((taken, most), (squares.clone(), 100));
        }
        assert!(run(&[], 4, |n: &u64| *n).is_empty());
    }
}

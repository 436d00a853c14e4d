//! What a module needs to assemble its result in parts.

/// The items of a module whose threads make parts of this struct.
pub(super) fn items(part: &str) -> String {
    let ends = if part.contains(": Ends,") { ENDS } else { "" };
    format!("\n/// What a chunk of the iterations adds to the result.\n{part}{ends}{JOINED}")
}

const ENDS: &str = "
/// Where entries end that belong together, by their place in the array that says so.
#[derive(Default)]
struct Ends(Vec<(usize, usize)>);

impl Ends {
    #[inline(always)]
    fn set(&mut self, place: usize, end: usize) {
        match self.0.last_mut() {
            Some(last) if last.0 == place => last.1 = end,
            _ => self.0.push((place, end)),
        }
    }
}
";

const JOINED: &str = "
/// Runs `work` on every thread; what it made of the chunks, in their order.
fn on_threads_in_order<T: Send>(
    threads: usize,
    work: impl Fn() -> Vec<(usize, T)> + Sync,
) -> Vec<T> {
    let mut parts = std::thread::scope(|scope| {
        let workers = started(scope, threads, &work);
        let mut parts = work();
        for worker in workers {
            match worker.join() {
                Ok(more) => parts.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        parts
    });
    parts.sort_unstable_by_key(|(start, _)| *start);
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Moves the elements of parts to the end of an array, which grows once. Threads copy many of them.
fn join<'a, T: Copy + Send + Sync + 'a>(
    array: &mut Appender<'_, T>,
    threads: usize,
    parts: impl Iterator<Item = &'a mut Vec<T>>,
) {
    const MANY: usize = 1 << 16;
    let parts: Vec<Vec<T>> = parts.map(std::mem::take).collect();
    let len: usize = parts.iter().map(Vec::len).sum();
    array.extend_by(len, |room| {
        let step = len.div_ceil(threads.max(1)).max(MANY);
        let copy = |at: usize, room: &mut [std::mem::MaybeUninit<T>]| {
            let (mut skip, mut room) = (at, room);
            for part in &parts {
                let from = skip.min(part.len());
                let n = (part.len() - from).min(room.len());
                let (here, rest) = room.split_at_mut(n);
                for (place, element) in here.iter_mut().zip(&part[from..]) {
                    place.write(*element);
                }
                (skip, room) = (skip - from, rest);
            }
        };
        std::thread::scope(|scope| {
            let mut rooms = room.chunks_mut(step).enumerate();
            let own = rooms.next();
            for (k, room) in rooms {
                let copy = &copy;
                scope.spawn(move || copy(k * step, room));
            }
            if let Some((_, room)) = own {
                copy(0, room);
            }
        });
    });
}

impl<T: Copy> Appender<'_, T> {
    /// So many more elements, all of which `write` writes.
    fn extend_by(&mut self, more: usize, write: impl FnOnce(&mut [std::mem::MaybeUninit<T>])) {
        // One more: what is pushed last says where the last ones end.
        if self.capacity - self.len < more + 1 {
            self.array.len = self.len;
            // SAFETY: the array is one that `reserve` was given with, and so many elements were written.
            unsafe { (self.array.reserve)(self.array, more + 1) };
            (self.data, self.capacity) = (self.array.data, self.array.capacity);
        }
        // SAFETY: there is room for so many behind the elements.
        let room = unsafe { std::slice::from_raw_parts_mut(self.data.add(self.len).cast(), more) };
        write(room);
        self.len += more;
    }
}
";

import CProcess
import Glibc

/// The memory of this process's heap that nothing uses.
package enum FreeMemory {
    /// Has the heap keep one arena for each processor, at least two, where the C library would make eight: each stays as large as it was in
    /// the busiest moment that it has seen.
    ///
    /// This is for a process that is the runtime's alone, and holds for arenas that are made later: it's called before there are threads. The
    /// variable `MALLOC_ARENA_MAX` decides instead, if it's set; see mallopt(3).
    package static func limitArenas() {
        guard getenv("MALLOC_ARENA_MAX") == nil else { return }
        coordinator_process_limit_arenas(Int32(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 2)))
    }

    /// Gives the free memory back to the kernel, as far as whole pages are free.
    ///
    /// The call takes a millisecond for each few megabytes of heap, and holds up the allocations of other threads meanwhile; see
    /// malloc_trim(3).
    package static func giveBack() { coordinator_process_trim_memory() }

    /// Unmaps the code of the program and its libraries; what runs again is mapped again, from the memory in which the kernel keeps the file.
    ///
    /// A process that has begun needs a third of the code that its beginning took. The rest costs the kernel time at the end of the process.
    package static func unmapCode() { coordinator_process_unmap_code() }
}

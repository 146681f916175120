internal import CNNG
internal import CProcess

/// The nng library as a whole.
public enum Library {
    /// Makes nng's threads now rather than at the first use, which takes a millisecond or two; as many as on a machine with one processor, if they
    /// aren't there yet.
    ///
    /// nng makes two for each processor, 16 at most, and up to eight timers: for a process with a link or two that is memory and the time to begin and to end.
    public static func prepareFew() {
        coordinator_process_answer_processors(1)
        defer { coordinator_process_answer_processors(0) }
        var operation: OpaquePointer?
        // A failure shows at the first use.
        if nng_aio_alloc(&operation, nil, nil) == 0 { nng_aio_free(operation) }
    }
}

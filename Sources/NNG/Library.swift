internal import CNNG

/// The nng library as a whole.
public enum Library {
    /// Makes nng's threads now rather than at the first use, which takes a millisecond or two.
    public static func prepare() {
        var operation: OpaquePointer?
        // A failure shows at the first use.
        if nng_aio_alloc(&operation, nil, nil) == 0 { nng_aio_free(operation) }
    }
}

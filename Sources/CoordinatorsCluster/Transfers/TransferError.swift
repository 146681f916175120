/// Why a request has got no whole answer.
struct TransferError: Error, CustomStringConvertible {
    /// What happened, as libcurl says it.
    let description: String
    /// Whether the peer may have got the whole request.
    let mayHaveBeenSent: Bool
}

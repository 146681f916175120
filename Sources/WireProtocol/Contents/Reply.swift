/// The answer to a frame with a correlation.
public enum Reply: Sendable, Hashable {
    /// The encoded answer, in the codec of its question.
    case success(Bytes)
    /// The reason why there is no answer.
    case failure(Failure)
}

extension Reply {
    @inline(__always)
    func encode(into batch: inout [UInt8]) {
        switch self {
        case .success(let payload):
            batch.append(0)
            batch.append(contentsOf: payload)
        case .failure(let failure):
            batch.append(1)
            failure.encode(into: &batch)
        }
    }

    @inline(__always)
    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        self = try body.flag("a reply's outcome") ? .failure(try Failure(from: &body, limits: limits)) : .success(body.rest())
    }
}

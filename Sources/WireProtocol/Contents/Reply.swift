/// The answer to a frame with a correlation.
public enum Reply: Sendable, Hashable {
    /// The encoded answer, in the codec of its question.
    case success(Bytes)
    /// There is no answer.
    case failure(Failure)
}

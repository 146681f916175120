import Supervision

extension Shutdown {
    /// How long a child is given to end; `nil`: for ever.
    var grace: Duration? {
        switch self {
        case .brutalKill: .zero
        case .timeout(let duration): duration
        case .infinity: nil
        }
    }
}

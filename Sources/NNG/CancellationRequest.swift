internal import Synchronization

/// A request to end one operation, which may be made before that operation is submitted.
///
/// If there are several requests, the first one's reason counts.
final class CancellationRequest: Sendable {
    private let code = Atomic<Int32>(0)

    var reason: NNGError.Code? {
        let value = code.load(ordering: .acquiring)
        return value == 0 ? nil : NNGError.Code(rawValue: value)
    }

    func make(_ reason: NNGError.Code) {
        _ = code.compareExchange(expected: 0, desired: reason.rawValue, ordering: .acquiringAndReleasing)
    }
}

internal import Synchronization

/// A wish to end one operation, which may be uttered before that operation is submitted.
///
/// The first reason holds.
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

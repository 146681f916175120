import Coordinators

/// The messages of the service.
enum Thumbnail {
    /// Makes a small picture, or takes it from the cache; what a front end asks.
    struct Make: ResponderMessage {
        typealias Reply = [UInt8]
        typealias Failure = Picture.Problem

        var picture: [UInt8]
        var width: Int
    }

    /// Decodes and scales a picture, in a process that the picture may end.
    struct Render: ResponderMessage {
        typealias Reply = [UInt8]
        typealias Failure = Picture.Problem

        var picture: [UInt8]
        var width: Int
    }
}

extension Thumbnail {
    /// Returns the HTTP status by which a front end answers for an error of ``Make``, and whether its client may try again.
    static func status(of error: any Error) -> (code: Int, isWorthRepeating: Bool) {
        switch error {
        case is Picture.Problem: return (422, false)
        case let error as CoordinatorError:
            switch error.code {
            case .peerLost where error.provesNothingExecuted: return (503, true)
            // The picture has ended its renderer, or has run past its deadline: it would do so again.
            case .peerLost: return (422, false)
            case .timedOut: return (504, false)
            case .mailboxFull, .draining, .restarting, .stopped: return (503, true)
            default: return (500, false)
            }
        default: return (500, false)
        }
    }
}

/// The meaning of a frame: one case for each kind, with the fields of its body.
public enum Content: Sendable, Hashable {
    /// A worker's introduction: the first frame of the dialling side.
    case hello(Hello)
    /// A parent's acceptance of a worker: the first frame of the listening side.
    case welcome(Welcome)
    /// A message that is answered.
    case ask(Ask)
    /// The answer to an ``ask(_:)``, or to any other frame with a correlation.
    case reply(Reply)
    /// One of several answers to an ``ask(_:)``.
    case streamItem(Bytes)
    /// The end of the answers to an ``ask(_:)``, with the failure unless the end is the regular one.
    case streamEnd(Failure?)
    /// A message whose handling is not waited for; with a correlation, the reply says whether the message was taken.
    case send(Send)
    /// The acceptance of an ``ask(_:)`` that is answered more than once, before the first answer.
    case ack
    /// The cancellation of the ask with the same correlation.
    case cancel
    /// An event of a coordinator, or a notification between two runtimes.
    case event(Event)
    /// The begin or the end of a subscription to events.
    case subscribe(Subscribe)
    /// The order to start the worker's coordinator.
    case start(Start)
    /// The order to stop a coordinator.
    case stop(Stop)
    /// The order to pause a coordinator.
    case pause(Pause)
    /// The end of one reason for a coordinator's pause.
    case resume(Resume)
    /// The answer to ``start(_:)``: the worker's coordinator has started.
    ///
    /// A worker repeats it, with start's correlation, on each later link. The receiver takes the first one, and doesn't look at its
    /// correlation.
    case ready
    /// The output of a coordinator that has finished.
    case finish(Bytes)
    /// The end of the worker's coordinator.
    case exited(Exited)
    /// A new value of a dependency of the subtree.
    case dependency(Dependency)
    /// A request to the runtime of the other side.
    case inspect(Inspect)
    /// A request for a ``pong(_:)`` with the same probe.
    case ping(Probe)
    /// The answer to a ``ping(_:)``.
    case pong(Probe)
    /// Permission to send more.
    case credit(Credit)
    /// The regular end of the link, with the reason in words.
    case goodbye(String)
    /// The definition of a number that stands for a name, in this direction of this link.
    case defineName(DefineName)
    /// The rows of one coordinator above a worker.
    case directory(Directory)
    /// A part of a frame that is larger than the receiver takes at once.
    case part(Part)
}

/// The byte in a frame's header that says which body follows.
///
/// The numbers are part of the format and are never reused; 12 and 13 belong to no kind.
enum FrameKind: UInt8 {
    case hello = 1
    case welcome = 2
    case ask = 3
    case reply = 4
    case streamItem = 5
    case streamEnd = 6
    case send = 7
    case ack = 8
    case cancel = 9
    case event = 10
    case subscribe = 11
    case start = 14
    case stop = 15
    case pause = 16
    case resume = 17
    case ready = 18
    case finish = 19
    case exited = 20
    case dependency = 21
    case inspect = 22
    case ping = 23
    case pong = 24
    case credit = 25
    case goodbye = 26
    case defineName = 27
    case directory = 28
    case part = 29
}

extension Content {
    /// The byte that stands for this content in a header.
    var kind: FrameKind {
        switch self {
        case .hello: .hello
        case .welcome: .welcome
        case .ask: .ask
        case .reply: .reply
        case .streamItem: .streamItem
        case .streamEnd: .streamEnd
        case .send: .send
        case .ack: .ack
        case .cancel: .cancel
        case .event: .event
        case .subscribe: .subscribe
        case .start: .start
        case .stop: .stop
        case .pause: .pause
        case .resume: .resume
        case .ready: .ready
        case .finish: .finish
        case .exited: .exited
        case .dependency: .dependency
        case .inspect: .inspect
        case .ping: .ping
        case .pong: .pong
        case .credit: .credit
        case .goodbye: .goodbye
        case .defineName: .defineName
        case .directory: .directory
        case .part: .part
        }
    }
}

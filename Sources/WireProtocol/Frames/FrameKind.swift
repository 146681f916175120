/// The byte that tells what a frame's body contains.
///
/// The numbers are the format: they are never reused.
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
    case watch = 12
    case terminated = 13
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
        case .watch: .watch
        case .terminated: .terminated
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
        }
    }
}

import Control

/// The position of a browser in the stream: the tick of its rows and the number of its last event.
struct StreamPosition: Sendable {
    var tick: UInt64?
    var sequence: UInt64?

    /// Creates the position of a browser that has nothing.
    init() {}

    /// Reads the position that a browser had, as the `id` of the stream's messages names it; another console's counts as none.
    init(_ text: String?, epoch: String) {
        let parts = (text ?? "").split(separator: ".")
        guard parts.count == 3, parts[0] == epoch else { return }
        (tick, sequence) = (UInt64(parts[1]), UInt64(parts[2]))
    }

    /// The position as text.
    func text(epoch: String) -> String { "\(epoch).\(tick ?? 0).\(sequence ?? 0)" }
}

/// Rows that have changed.
struct TableMessage: Encodable {
    var now: Int64
    var whole: Bool
    var rows: [Row]
    var gone: [String]
    /// The reason for which the rows are old, or there are none; nil while the daemon answers.
    var problem: String?
}

/// New events.
struct EventMessage: Encodable {
    var missed: UInt64
    var events: [EventRing.Entry]
}

/// The text of the event stream.
///
/// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
enum StreamText {
    static func event(_ name: String, _ message: some Encodable) -> String {
        // JSON on one line has no end of line within.
        guard let bytes = try? ControlJSON.bytes(of: message) else { return "" }
        return "event: \(name)\ndata: \(String(decoding: bytes, as: UTF8.self))\n\n"
    }
}

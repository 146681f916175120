package import WireProtocol

/// The messages that a flow has taken and whose senders may send them again, with the reply that each got.
///
/// A message is forgotten when its origin says that it has the message's end. An origin is an opening of a store, or a part of one: what one leaves
/// at its end is kept until so many later ones have sent something that it can't matter any more.
package struct Inbox: Sendable, Hashable, Decodable {
    /// What is known of a message that has arrived.
    package enum Admission: Sendable, Hashable {
        case new
        /// The message was taken before, and this is its reply.
        case known(JSONValue)
        /// The origin has had the message's end: this is a late copy.
        case forgotten
        /// There is no room for another; the sender is to try again later.
        case full
    }

    private struct Taken: Sendable, Hashable, Decodable {
        let number: UInt64
        let reply: JSONValue
    }

    private struct Origin: Sendable, Hashable, Decodable {
        let number: UInt64
        var floor: UInt64 = 0
        var taken: [Taken] = []

        func write(_ writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("number") { $0.write(number) }
                writer.member("floor") { $0.write(floor) }
                writer.member("taken") { writer in
                    writer.array { writer in
                        for taken in taken {
                            writer.object { writer in
                                writer.member("number") { $0.write(taken.number) }
                                writer.member("reply") { $0.write(taken.reply) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The number of origins that are remembered, and of messages of each.
    package static let originsLimit = 64
    package static let limit = 1_024
    /// The number of messages of all origins; beyond it the origin is forgotten that was silent for longest.
    package static let totalLimit = 2_048

    /// The origins, the one that was heard of last at the end.
    private var origins: [Origin] = []

    package init() {}

    /// The number of messages that are remembered.
    package var count: Int { origins.reduce(0) { $0 + $1.taken.count } }

    /// Returns what is known of a message.
    package func admission(_ origin: UInt64, _ number: UInt64) -> Admission {
        guard let known = origins.first(where: { $0.number == origin }) else { return .new }
        if let taken = known.taken.first(where: { $0.number == number }) { return .known(taken.reply) }
        if number < known.floor { return .forgotten }
        return known.taken.count < Self.limit ? .new : .full
    }

    mutating func take(_ origin: UInt64, _ number: UInt64, _ reply: JSONValue) {
        heard(of: origin) { $0.taken.append(Taken(number: number, reply: reply)) }
    }

    mutating func forget(below floor: UInt64, of origin: UInt64) {
        guard let known = origins.first(where: { $0.number == origin }), known.floor < floor else { return }
        heard(of: origin) { origin in
            origin.floor = floor
            origin.taken.removeAll { $0.number < floor }
        }
    }

    func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("origins") { writer in
                writer.array { writer in for origin in origins { origin.write(&writer) } }
            }
        }
    }

    private mutating func heard(of number: UInt64, _ body: (inout Origin) -> Void) {
        let index = origins.firstIndex { $0.number == number }
        var origin = index.map { origins.remove(at: $0) } ?? Origin(number: number)
        body(&origin)
        origins.append(origin)
        while origins.count > Self.originsLimit || origins.count > 1 && count > Self.totalLimit { origins.removeFirst() }
    }
}

import ChaosHistory
import Coordinators
import Glibc

/// A number of a parent, or of a leaf below its parent, as a type: so that each leaf has messages of its own, which rows can forward.
protocol Place: Sendable {
    static var number: Int { get }
}

enum Place0: Place { static let number = 0 }
enum Place1: Place { static let number = 1 }
enum Place2: Place { static let number = 2 }
enum Place3: Place { static let number = 3 }
enum Place4: Place { static let number = 4 }
enum Place5: Place { static let number = 5 }
enum Place6: Place { static let number = 6 }
enum Place7: Place { static let number = 7 }

enum Places {
    static let all: [any Place.Type] = [
        Place0.self, Place1.self, Place2.self, Place3.self, Place4.self, Place5.self, Place6.self, Place7.self,
    ]
}

/// What a leaf is to do, once.
struct Work<Parent: Place, Leaf: Place>: ResponderMessage {
    typealias Reply = Int

    /// Such as `Work.p3.l2`, which the root forwards to its child `p3`, and that to its child `l2`.
    static var name: String { "Work.p\(Parent.number).l\(Leaf.number)" }
    /// So long that only what the runtime decides ends an ask.
    static var timeout: Duration { .seconds(60) }

    var order: WorkOrder
}

/// What a leaf may do several times.
struct RepeatedWork<Parent: Place, Leaf: Place>: ResponderMessage {
    typealias Reply = Int

    static var name: String { "Repeated.p\(Parent.number).l\(Leaf.number)" }
    static var timeout: Duration { .seconds(60) }
    static var isIdempotent: Bool { true }

    var order: WorkOrder
}

/// What any member of the pool is to do, once.
struct SharedWork: ResponderMessage {
    typealias Reply = Int

    static let name = "Shared.Work"
    static var timeout: Duration { .seconds(60) }

    var order: WorkOrder
}

/// What members of the pool may do several times.
struct RepeatedSharedWork: ResponderMessage {
    typealias Reply = Int

    static let name = "Shared.Repeated"
    static var timeout: Duration { .seconds(60) }
    static var isIdempotent: Bool { true }

    var order: WorkOrder
}

/// What a message to a leaf says.
struct WorkOrder: Codable, Sendable {
    var message: String
    var kind: String
    /// The time that the handler takes after it has recorded the message.
    var milliseconds: Int
}

/// Holds back what the sender of the message, or its receiver, sends: the row runs on the thread that reads the link.
struct Clog: ResponderMessage {
    static let name = "Clog"
    var milliseconds: Int

    func holdBack() { usleep(UInt32(milliseconds) * 1_000) }
}

/// Has the parent send ``Clog`` to one of its children.
struct ClogDown: ResponderMessage {
    static let name = "ClogDown"
    var key: String
    var milliseconds: Int
}

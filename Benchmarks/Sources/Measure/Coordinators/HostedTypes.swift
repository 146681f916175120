import Coordinators
import Glibc

/// The coordinators that a worker of this program can host: the three that are used, or forty.
enum HostedTypes {
    /// The variable that makes workers register forty types.
    static let variable = "MEASURE_FORTY_TYPES"

    static var all: [any Coordinator.Type] {
        let used: [any Coordinator.Type] = [Hop.self, Idle.self, Announcer.self]
        return getenv(variable) == nil ? used : used + others
    }

    private static let others: [any Coordinator.Type] = [
        Unused01.self,
        Unused02.self,
        Unused03.self,
        Unused04.self,
        Unused05.self,
        Unused06.self,
        Unused07.self,
        Unused08.self,
        Unused09.self,
        Unused10.self,
        Unused11.self,
        Unused12.self,
        Unused13.self,
        Unused14.self,
        Unused15.self,
        Unused16.self,
        Unused17.self,
        Unused18.self,
        Unused19.self,
        Unused20.self,
        Unused21.self,
        Unused22.self,
        Unused23.self,
        Unused24.self,
        Unused25.self,
        Unused26.self,
        Unused27.self,
        Unused28.self,
        Unused29.self,
        Unused30.self,
        Unused31.self,
        Unused32.self,
        Unused33.self,
        Unused34.self,
        Unused35.self,
        Unused36.self,
        Unused37.self,
    ]
}

// Written out, each with a message of its own, as the types of a real program are: types that a generic makes cost other amounts.

actor Unused01: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 1 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused02: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 2 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused03: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 3 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused04: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 4 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused05: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 5 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused06: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 6 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused07: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 7 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused08: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 8 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused09: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 9 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused10: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 10 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused11: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 11 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused12: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 12 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused13: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 13 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused14: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 14 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused15: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 15 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused16: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 16 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused17: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 17 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused18: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 18 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused19: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 19 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused20: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 20 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused21: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 21 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused22: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 22 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused23: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 23 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused24: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 24 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused25: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 25 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused26: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 26 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused27: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 27 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused28: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 28 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused29: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 29 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused30: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 30 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused31: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 31 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused32: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 32 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused33: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 33 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused34: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 34 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused35: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 35 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused36: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 36 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

actor Unused37: Coordinator {
    struct Question: ResponderMessage { typealias Reply = Int }
    static let responders: Responders = [.respond(to: Question.self) { _, _ in 37 }]
    let context: Context
    init(_ context: Context) { self.context = context }
}

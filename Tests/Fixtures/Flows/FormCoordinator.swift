public import Coordinators

public enum Form {
    /// Finishes the form with its title and the text.
    public struct Submit: ResponderMessage {
        public var text: String
        public init(_ text: String) { self.text = text }
    }

    /// The title, and the incarnation that has it.
    public struct Title: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }
}

/// A flow that asks for a text.
public actor FormCoordinator: Coordinator {
    public typealias Output = String

    public struct Configuration: NotingConfiguration {
        public var notebook = Notebook()
        public var title = "form"
        /// A field that the coordinator can't take while it lives.
        public var width: Int? = 80
        public init() {}
    }

    public nonisolated let context: Context

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Form.Submit.self) { me, submit in me.context.finish("\(me.configuration.title): \(submit.text)") },
        .respond(to: Form.Title.self) { me, _ in
            let configuration = me.context.configuration
            return "\(configuration.title) \(configuration.width.map { "\($0)" } ?? "-") \(me.context.incarnation)"
        },
    ]

    public func start() async throws { note("started") }
    public func stopped() async { note("stopped") }

    public func reconfigured(from former: Configuration) async throws -> Reconfiguration {
        let new = context.configuration
        note("\(former.title) becomes \(new.title)")
        if new.title.isEmpty { throw Fixture.Refusal("a form needs a title") }
        return former.width == new.width ? .taken : .restart
    }
}

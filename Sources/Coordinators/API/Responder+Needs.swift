// MARK: - Answering

extension Responder {
    /// Answers a message with the help of a dependency; see the form for several.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage, Value: Sendable>(
        to message: M.Type,
        needs dependency: DependencyPath<Value>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, Value) async throws -> M.Reply
    ) -> Responder {
        let needs = MessageRow.Needs(dependency)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, _, cell, _ in
            .value(try await body(me, message, try await cell.required(dependency)))
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply with the help of a dependency.
    public static func respond<M: ResponderMessage, Value: Sendable>(
        to message: M.Type,
        needs dependency: DependencyPath<Value>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, Value) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let needs = MessageRow.Needs(dependency)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, _, cell, _ in
            try await body(me, message, try await cell.required(dependency))
            return .value(NoReply())
        }
        return Responder(row: .message(row))
    }

    /// Answers a message with the help of dependencies.
    ///
    ///     .respond(to: Order.Place.self, needs: \.database, \.mailer) { me, order, database, mailer in … }
    ///
    /// A row of a message with a reply may need any number of them; one of a message without has forms for up to three.
    ///
    /// Until the coordinator or one above it has provided all of them, the messages wait in order, bounded and until their deadlines. Then a
    /// service that its process hasn't made yet is made; the body begins when it's ready, and an error of its making is the asker's. A
    /// message that needs a value which can't cross to this process fails with `unsupported`, by the name of the key.
    @_disfavoredOverload
    public static func respond<M: ResponderMessage, First: Sendable, Second: Sendable, each More: Sendable>(
        to message: M.Type,
        needs first: DependencyPath<First>,
        _ second: DependencyPath<Second>,
        _ more: repeat DependencyPath<each More>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, First, Second, repeat each More) async throws -> M.Reply
    ) -> Responder {
        let needs = MessageRow.Needs(first, second, repeat each more)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, _, cell, _ in
            let (first, second) = (try await cell.required(first), try await cell.required(second))
            return .value(try await body(me, message, first, second, repeat try await cell.required(each more)))
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply with the help of dependencies.
    public static func respond<M: ResponderMessage, First: Sendable, Second: Sendable>(
        to message: M.Type,
        needs first: DependencyPath<First>,
        _ second: DependencyPath<Second>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, First, Second) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let needs = MessageRow.Needs(first, second)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, _, cell, _ in
            let needed = (try await cell.required(first), try await cell.required(second))
            try await body(me, message, needed.0, needed.1)
            return .value(NoReply())
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply with the help of dependencies.
    public static func respond<M: ResponderMessage, First: Sendable, Second: Sendable, Third: Sendable>(
        to message: M.Type,
        needs first: DependencyPath<First>,
        _ second: DependencyPath<Second>,
        _ third: DependencyPath<Third>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, First, Second, Third) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let needs = MessageRow.Needs(first, second, third)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, _, cell, _ in
            let needed = (try await cell.required(first), try await cell.required(second), try await cell.required(third))
            try await body(me, message, needed.0, needed.1, needed.2)
            return .value(NoReply())
        }
        return Responder(row: .message(row))
    }

    /// Answers a message with the help of its sender, remaining time and trace, and of dependencies.
    ///
    ///     .respond(to: Order.Place.self, needs: \.database) { me, order, context, database in … }
    @_disfavoredOverload
    public static func respond<M: ResponderMessage, First: Sendable, each More: Sendable>(
        to message: M.Type,
        needs first: DependencyPath<First>,
        _ more: repeat DependencyPath<each More>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, MessageContext, First, repeat each More) async throws -> M.Reply
    ) -> Responder {
        let needs = MessageRow.Needs(first, repeat each more)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, envelope, cell, _ in
            let first = try await cell.required(first)
            let context = MessageContext(envelope, cell.runtime.time)
            return .value(try await body(me, message, context, first, repeat try await cell.required(each more)))
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply with the help of its sender, remaining time and trace, and of dependencies.
    public static func respond<M: ResponderMessage, First: Sendable>(
        to message: M.Type,
        needs first: DependencyPath<First>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, MessageContext, First) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let needs = MessageRow.Needs(first)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, envelope, cell, _ in
            let needed = (try await cell.required(first))
            try await body(me, message, MessageContext(envelope, cell.runtime.time), needed)
            return .value(NoReply())
        }
        return Responder(row: .message(row))
    }

    /// Answers a message that has no reply with the help of its sender, remaining time and trace, and of dependencies.
    public static func respond<M: ResponderMessage, First: Sendable, Second: Sendable>(
        to message: M.Type,
        needs first: DependencyPath<First>,
        _ second: DependencyPath<Second>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, MessageContext, First, Second) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let needs = MessageRow.Needs(first, second)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: interleaves) { me, message, envelope, cell, _ in
            let needed = (try await cell.required(first), try await cell.required(second))
            try await body(me, message, MessageContext(envelope, cell.runtime.time), needed.0, needed.1)
            return .value(NoReply())
        }
        return Responder(row: .message(row))
    }
}

// MARK: - Streams and interceptors

extension Responder {
    /// Answers a message with several replies, with the help of dependencies.
    ///
    /// The row is as one without dependencies otherwise, and the message waits for them as that of a `respond` row.
    public static func stream<M: ResponderMessage, First: Sendable, each More: Sendable>(
        _ message: M.Type,
        needs first: DependencyPath<First>,
        _ more: repeat DependencyPath<each More>,
        body: @escaping @Sendable (isolated C, M, Replies<M>, First, repeat each More) async throws -> Void
    ) -> Responder {
        let needs = MessageRow.Needs(first, repeat each more)
        let row = MessageRow(M.self, of: C.self, needs: needs, interleaves: true) { me, message, envelope, cell, _ in
            let first = try await cell.required(first)
            let replies = Replies<M>(envelope: envelope, time: cell.runtime.time)
            try await body(me, message, replies, first, repeat try await cell.required(each more))
            return try envelope.endOfReplies()
        }
        return Responder(row: .message(row))
    }

    /// Intercepts a message with the help of dependencies.
    ///
    /// The row is as one without dependencies otherwise, and the message waits for them as that of a `respond` row.
    @_disfavoredOverload
    public static func intercept<M: ResponderMessage, First: Sendable, each More: Sendable>(
        _ message: M.Type,
        needs first: DependencyPath<First>,
        _ more: repeat DependencyPath<each More>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>, First, repeat each More) async throws -> M.Reply
    ) -> Responder {
        let needs = MessageRow.Needs(first, repeat each more)
        let row = MessageRow(
            M.self,
            of: C.self,
            isInterceptor: true,
            needs: needs,
            interleaves: interleaves
        ) { me, message, envelope, cell, index in
            let chain = Chain<M>(continuation: ChainContinuation(cell: cell, envelope: envelope, index: index))
            let first = try await cell.required(first)
            let reply = try await body(me, message, chain, first, repeat try await cell.required(each more))
            return envelope.hasReplied ? .none : .value(reply)
        }
        return Responder(row: .message(row))
    }

    /// Intercepts a message that has no reply with the help of dependencies.
    public static func intercept<M: ResponderMessage, First: Sendable>(
        _ message: M.Type,
        needs first: DependencyPath<First>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>, First) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let needs = MessageRow.Needs(first)
        let row = MessageRow(
            M.self,
            of: C.self,
            isInterceptor: true,
            needs: needs,
            interleaves: interleaves
        ) { me, message, envelope, cell, index in
            let chain = Chain<M>(continuation: ChainContinuation(cell: cell, envelope: envelope, index: index))
            let needed = (try await cell.required(first))
            try await body(me, message, chain, needed)
            return envelope.hasReplied ? .none : .value(NoReply())
        }
        return Responder(row: .message(row))
    }

    /// Intercepts a message that has no reply with the help of dependencies.
    public static func intercept<M: ResponderMessage, First: Sendable, Second: Sendable>(
        _ message: M.Type,
        needs first: DependencyPath<First>,
        _ second: DependencyPath<Second>,
        interleaves: Bool = false,
        _ body: @escaping @Sendable (isolated C, M, Chain<M>, First, Second) async throws -> Void
    ) -> Responder where M.Reply == NoReply {
        let needs = MessageRow.Needs(first, second)
        let row = MessageRow(
            M.self,
            of: C.self,
            isInterceptor: true,
            needs: needs,
            interleaves: interleaves
        ) { me, message, envelope, cell, index in
            let chain = Chain<M>(continuation: ChainContinuation(cell: cell, envelope: envelope, index: index))
            let needed = (try await cell.required(first), try await cell.required(second))
            try await body(me, message, chain, needed.0, needed.1)
            return envelope.hasReplied ? .none : .value(NoReply())
        }
        return Responder(row: .message(row))
    }
}

extension MessageRow.Needs {
    init<First, each More>(_ first: DependencyPath<First>, _ more: repeat DependencyPath<each More>) {
        self.init { dependencies in
            var names = Dependencies.names(of: first, in: dependencies)
            repeat names += Dependencies.names(of: each more, in: dependencies)
            return names
        }
    }
}

// MARK: - Providing and reading dependencies

extension CoordinatorContext {
    /// The dependencies of the coordinator.
    public var dependencies: Dependencies { cell.dependencies }

    /// Provides this coordinator and everything below it, in this process and in others, now and after restarts.
    ///
    /// Coordinators below get the value first; then messages that waited here for it begin, in order. A value that a coordinator further
    /// down provides itself stays. Messages that are sent after this call find the value. A worker gets it if it's Codable.
    public func provide<Value: Sendable>(_ key: any WritableKeyPath<Dependencies, Value?> & Sendable, _ value: Value) async {
        var dependencies = Dependencies()
        dependencies[keyPath: key as WritableKeyPath<Dependencies, Value?>] = value
        cell.provide(dependencies)
        cell.runtime.features.hasProvided(Value.self, at: cell)
    }

    /// Returns a dependency; makes the services that it reads first, if this process hasn't made them.
    ///
    ///     let database = try await context.dependency(\.database)
    ///
    /// - Throws: `unsupported` when it isn't provided, or can't cross to this process; the error of the service's making.
    public func dependency<Value: Sendable>(_ key: DependencyPath<Value>) async throws -> Value { try await cell.required(key) }

    /// Provides a service by its description, from which every process makes, runs and ends its own.
    public func provide<Value: Sendable, Descriptor: Codable & Sendable>(
        _ key: any KeyPath<DependencyKeys, ServiceDependencyKey<Value, Descriptor>> & Sendable,
        describedBy descriptor: Descriptor
    ) async {
        var dependencies = Dependencies()
        dependencies.describe(key, by: descriptor)
        cell.provide(dependencies)
    }

    /// Provides a service by its description, from which every process makes its own when it's first needed there.
    public func provide<Value: Sendable, Descriptor: Codable & Sendable>(
        _ key: any KeyPath<DependencyKeys, DescribedDependencyKey<Value, Descriptor>> & Sendable,
        describedBy descriptor: Descriptor
    ) async {
        var dependencies = Dependencies()
        dependencies.describe(key, by: descriptor)
        cell.provide(dependencies)
    }
}

extension CoordinatorCell {
    /// Returns the value of a property; makes the services that it reads first, if this process hasn't made them.
    func required<Value: Sendable>(
        _ path: DependencyPath<Value>,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Value {
        while true {
            do {
                return try dependencies.required(path)
            } catch let services as UnmadeServices {
                for service in services.all { try await service.make(runtime) }
            }
        }
    }
}

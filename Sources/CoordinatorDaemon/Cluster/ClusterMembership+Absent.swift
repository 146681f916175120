#if !Cluster
    import Control
    import Coordinators
    import DaemonConfiguration
    import Logging
    import Processes
    import WireProtocol

    /// What a daemon that was built without the trait `Cluster` has instead: there is no such value.
    enum ClusterMembership {
        init(_ configuration: ClusterConfiguration, _ children: ConfiguredChildren, _ runtime: CoordinatorRuntime, logger: Logger)
            throws(ProcessError)
        {
            throw ProcessError(
                code: .unsupported,
                errno: 0,
                message: "the configuration has `cluster`, and this coordinatord was built without it; "
                    + "build it with `swift build --product coordinatord --traits Cluster`"
            )
        }

        func run() async {}
        func leave(hastenedBy shutdown: ShutdownSignal) async {}
        func follow() async {}
        func nodes() async -> NodeList { switch self {} }
        func whereabouts(of path: CoordinatorPath) async throws(ControlError) -> Whereabouts { switch self {} }
        func drain(_ text: String, _ isDraining: Bool) async throws(ControlError) -> NodeList { switch self {} }
        func move(_ path: CoordinatorPath, to text: String?) async throws(ControlError) -> Whereabouts { switch self {} }
        func check(_ operation: ControlOperation, from requester: Requester) async throws(ControlError) {}
        func use(_ server: ControlServer) {}
        func listen() throws(ControlError) {}
        func passOn(
            _ operation: ControlOperation,
            from requester: Requester,
            _ origin: (UInt64) -> RequestOrigin
        ) async throws(ControlError) -> JSONValue? { switch self {} }
        func passOn(
            _ operation: ControlOperation,
            from requester: Requester,
            to items: ItemWriter,
            _ origin: (UInt64) -> RequestOrigin
        ) async throws(ControlError) -> JSONValue? { switch self {} }
        var keysElsewhere: Set<String> { get async { switch self {} } }
        func mark(_ tree: inout TreeNode) async {}
        func mark(_ list: inout ProcessList) {}
        func complete(_ list: inout ProcessList) async {}
        func answer(to question: ControlOperation, of text: String, _ origin: RequestOrigin) async throws(ControlError) -> JSONValue? {
            switch self {}
        }
        func stream(
            _ question: ControlOperation,
            of text: String,
            to items: ItemWriter,
            _ origin: RequestOrigin
        ) async throws(ControlError) -> JSONValue? { switch self {} }
        func renew() async {}
    }
#endif

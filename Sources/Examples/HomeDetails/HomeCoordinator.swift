import Coordinators
import Logging

/// Shows the home screen, and starts a coordinator for the details when the user opens them.
actor HomeCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration {
        /// The language of the details.
        var language = "en"
    }

    enum ChildKey: String, CoordinatorKey { case details }

    enum Page: Codable, Sendable, Equatable {
        case home
    }

    enum Event: Codable, Sendable, Equatable {
        /// The details are gone, and nothing is left of their coordinator.
        case isShownAgain
    }

    let context: Context
    private let configuration: Configuration
    private var callback: Subscription?

    init(_ context: Context) {
        self.context = context
        configuration = context.configuration
    }

    static let responders: Responders = [
        .respond(to: Home.ShowDetails.self) { me, show in
            try await me.showDetails(of: show.item, in: show.inWorker ? .worker : .inProcess)
        },
        .respond(to: Home.ChildCount.self) { me, _ in me.context.children.count },

        .forward(prefix: "Details.", to: .details),
    ]

    /// Provides the service that the details need, and shows the home screen.
    func start() async throws {
        await context.provide(\.detailsService, describedBy: configuration.language)
        context.show(.home)
    }

    /// Opens the details by starting their coordinator, which alone shows its page.
    private func showDetails(of item: Int, in placement: Placement) async throws {
        let details = try await context.start(DetailsCoordinator.self, as: .details, in: placement) { $0.item = item }
        callback = details.onEvent { [weak self] event in
            switch event {
            case .wentBack: await self?.removeDetails()
            }
        }
    }

    /// Stops the details' coordinator and releases its callback, which only this coordinator does.
    private func removeDetails() async {
        callback?.cancel()
        callback = nil
        do {
            try await context.remove(.details)
        } catch {
            // The details are gone already, which is the aim.
            context.logger.debug("there were no details to remove", metadata: ["error": "\(error)"])
        }
        context.delegates => .isShownAgain
    }

    /// Refuses messages to details that aren't there: only an item that the user chooses opens them.
    func open(section: ChildKey) throws { throw NoDetails() }
}

/// An error that reports that the details aren't shown.
struct NoDetails: Error, Codable, Equatable {}

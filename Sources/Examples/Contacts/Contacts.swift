import Coordinators

/// Contacts: browse and edit, as in the article in which a child is configured before it starts.
///
/// The editor is a process of its own, made from this same executable.
@main
struct Contacts {
    static func main() async throws {
        try await CoordinatorRuntime.main(ContactsTour.self, coordinators: [EditCoordinator.self])
    }
}

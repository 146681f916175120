import Coordinators
import TestSupport
import Testing

@testable import Registration

@Suite("Registration, then the dashboard", .timeLimit(minutes: 1))
struct RegistrationTests {
    private static let ada = Profile(name: "Ada", email: "ada@example.org")
    private static let no = Preferences(newsletter: false)
    private static let dashboard = "dashboard of Ada /app/dashboard:overview"

    /// What is known of a user beforehand, and what she is shown then.
    private static let users: [(profile: Profile?, preferences: Preferences?, isRegistered: Bool, shown: [String])] = [
        (
            nil, nil, false,
            [
                "profile? /app/registration:profile",
                "preferences? /app/registration:profile /app/registration:preferences",
                "confirm Ada /app/registration:profile /app/registration:preferences /app/registration:confirmation",
                dashboard, "finished: Ada, newsletter true",
            ]
        ),
        (
            nil, no, false,
            [
                "profile? /app/registration:profile", "confirm Ada /app/registration:profile /app/registration:confirmation",
                dashboard, "finished: Ada, newsletter false",
            ]
        ),
        (
            ada, nil, false,
            [
                "preferences? /app/registration:preferences", "confirm Ada /app/registration:preferences /app/registration:confirmation",
                dashboard, "finished: Ada, newsletter true",
            ]
        ),
        (ada, no, false, [dashboard, "finished: Ada, newsletter false"]),
        (ada, no, true, [dashboard, "finished: Ada, newsletter false"]),
    ]

    @Test(
        "A user is asked for what isn't known, sees the dashboard alone, and isn't registered twice",
        arguments: users.indices,
        Where.allCases
    )
    func steps(_ row: Int, _ place: Where) async throws {
        let user = Self.users[row]
        try await RunningRegistration.with(place) {
            if user.isRegistered, let profile = user.profile, let preferences = user.preferences {
                $0.app.user = User(profile: profile, preferences: preferences)
            } else {
                $0.app.known = DeviceManagement(profile: user.profile, preferences: user.preferences)
            }
        } _: { registration in
            let diary = try await registration.end()
            #expect(diary == user.shown)
        }
    }

    @Test("The application has one child, by its key, while the registration runs", arguments: Where.allCases)
    func children(_ place: Where) async throws {
        try await RunningRegistration.with(place) {
            $0.names = [""]
        } _: { registration in
            try await registration.shown(1)
            let children = try await registration.runtime.snapshot(of: "/app").children
            #expect(children.map(\.path) == ["/app/registration"])
            #expect(children.first?.type == "RegistrationCoordinator")
            #expect(children.first?.host == (place == .worker ? .worker : .inProcess))
        }
    }

    @Test("A registration whose process is killed begins again, and its user is registered all the same")
    func killed() async throws {
        try await RunningRegistration.with(.worker) {
            $0.names = ["", "Ada"]
        } _: { registration in
            try await registration.shown(1)
            try await registration.runtime.kill("/app/registration")
            let diary = try await registration.end()
            #expect(diary == ["profile? /app/registration:profile"] + Self.users[0].shown)
        }
    }
}

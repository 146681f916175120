/// What the application has from some other source, such as the company that the device belongs to.
struct DeviceManagement: Codable, Sendable, Equatable {
    var profile: Profile?
    var preferences: Preferences?
}

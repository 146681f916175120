/// The data that the application has from another source, such as the company that owns the device.
struct DeviceManagement: Codable, Sendable, Equatable {
    var profile: Profile?
    var preferences: Preferences?
}

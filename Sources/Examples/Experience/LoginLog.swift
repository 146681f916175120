import Coordinators

/// Records the events of the login.
actor LoginLog: CoordinatorDelegate {
    typealias Subject = LoginCoordinator

    /// The events so far, one line each.
    private(set) var lines: [String] = []

    func child(_ child: Child<LoginCoordinator>, didSend event: LoginCoordinator.Event) async {
        switch event {
        case .loggedIn(let user): lines.append("\(user.name) has logged in")
        case .failed(let reason): lines.append("a login failed: \(reason)")
        }
    }
}

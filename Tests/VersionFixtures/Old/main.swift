import Coordinators
import Fixtures

try await Trial.main(ParentCoordinator.self, CartCoordinator.self, others: [ClientCoordinator.self, secretive]) { await $0.askAll() }

import DiamondSQLite

@testable import Diamond

/// A storage whose server a test makes unreachable.
final class UnreliableStorage: ReplayStorageWrapper {
    enum Fault { case none, unreachable, unknownCommit }

    let base: any ReplayStorage
    let fault: Guarded<Fault>

    /// - Parameter fault: the fault, which several instances may share.
    init(_ base: any ReplayStorage, fault: Guarded<Fault> = Guarded(.none)) {
        self.base = base
        self.fault = fault
    }

    static let error = ReplayError(.unreachable, "the server does not answer")

    private func refuseIfUnreachable() throws(ReplayError) {
        if fault.withLock({ $0 == .unreachable }) { throw Self.error }
    }

    func reserveIDs(_ count: Int) async throws(ReplayError) -> ReplayJob.ID {
        try refuseIfUnreachable()
        return try await base.reserveIDs(count)
    }

    func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        try refuseIfUnreachable()
        let added = try await base.enqueue(entry, isWanted: isWanted)
        guard fault.withLock({ $0 == .none }) else { throw Self.error }
        return added
    }

    func register(
        _ owner: ReplayOwnerRecord.Program, lease: Int64
    ) async throws(ReplayError) -> ReplayOwnerRecord.ID {
        try refuseIfUnreachable()
        return try await base.register(owner, lease: lease)
    }
}

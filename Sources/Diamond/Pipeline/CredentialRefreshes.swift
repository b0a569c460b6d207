import DiamondSQLite

/// Has credentials made anew after a 401: once for all who wait for the same, and not again for one who was sent with what
/// has been replaced meanwhile.
final class CredentialRefreshes: Sendable {
    private struct Subject: Hashable {
        var names: Set<String>
        var identity: String?
    }

    private struct State {
        var running: [Subject: Task<Void, any Error>] = [:]
        /// How often each was made anew.
        var generations: [Subject: Int] = [:]
    }

    private let state = Guarded(State())
    private let provider: any RefreshableCredentialProvider
    private let repetitions: Repetitions

    init(_ provider: any RefreshableCredentialProvider, _ repetitions: Repetitions) {
        self.provider = provider
        self.repetitions = repetitions
    }

    /// What ``refresh(_:since:)`` wants to know of the time when the secrets were filled in.
    func generation(of wire: WireRequest) -> Int { state.withLock { $0.generations[Self.subject(of: wire)] ?? 0 } }

    /// Returns when the request's secrets are newer than they were.
    ///
    /// - Throws: `noCredential` where they cannot be made.
    func refresh(_ wire: WireRequest, since generation: Int) async throws(ConnectionError) {
        let subject = Self.subject(of: wire)
        guard let task = task(for: subject, since: generation) else { return }
        do { try await task.value } catch {
            let message = "the credential could not be made anew after status 401: sign in again, or see the cause"
            throw ConnectionError(.noCredential, message, cause: error)
        }
    }

    private static func subject(of wire: WireRequest) -> Subject {
        Subject(names: Set(wire.namedCredentials.compactMap(\.secret.name)), identity: wire.identity)
    }

    private func task(for subject: Subject, since generation: Int) -> Task<Void, any Error>? {
        state.withLock { state in
            guard state.generations[subject, default: 0] == generation else { return nil }
            if let task = state.running[subject] { return task }
            guard repetitions.beginRefresh() else { return nil }
            // It takes the lock to remove itself, and so cannot before it is entered here.
            let task = Task { [self] in
                let outcome = await Result { try await provider.refreshSecrets(subject.names, for: subject.identity) }
                end(subject, isNew: (try? outcome.get()) != nil)
                try outcome.get()
            }
            state.running[subject] = task
            return task
        }
    }

    private func end(_ subject: Subject, isNew: Bool) {
        state.withLock { state in
            state.running[subject] = nil
            if isNew { state.generations[subject, default: 0] += 1 }
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

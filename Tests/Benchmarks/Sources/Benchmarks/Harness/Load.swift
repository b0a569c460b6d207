/// Requests one after another, several such rows side by side.
enum Load {
    /// Sends `count` requests, `width` at a time, by tasks on `executor`, or wherever the system runs them.
    static func run(
        _ count: Int,
        width: Int,
        on executor: (any TaskExecutor)? = nil,
        _ send: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<width {
                group.addTask(executorPreference: executor) { for _ in 0..<(count / width) { try await send() } }
            }
            try await group.waitForAll()
        }
    }
}

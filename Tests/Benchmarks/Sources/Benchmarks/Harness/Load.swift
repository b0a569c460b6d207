/// Sequences of requests, several in parallel.
enum Load {
    /// Sends `count` requests, `width` at a time, in tasks on `executor`, or on the default one.
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

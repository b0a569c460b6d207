/// Requests one after another, several such rows side by side.
enum Load {
    /// Sends `count` requests, `width` at a time.
    static func run(_ count: Int, width: Int, _ send: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<width {
                group.addTask { for _ in 0..<(count / width) { try await send() } }
            }
            try await group.waitForAll()
        }
    }
}

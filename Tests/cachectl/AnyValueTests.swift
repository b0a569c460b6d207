import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondSQLite

/// The built `cachectl` on store files with extreme values, and values of other types.
@Suite("cachectl on a store with any value in a column", .limit(minutes: 5)) struct AnyValueTests {
    let cachectl = Shell()

    /// A column, the file with its table, and a value.
    struct Change: CustomTestStringConvertible, Sendable {
        var column: StoreColumn
        var isOfQueue: Bool
        var value: String
        var testDescription: String { "\(column.testDescription) = \(value)" }
    }

    private static let known = [
        ("census", "count", "-9223372036854775808"), ("census", "count", "9223372036854775807"),
        ("turn", "last", "9223372036854775807"), ("job", "run_at", "-9223372036854775808"),
    ].map { Change(column: StoreColumn(table: $0, name: $1), isOfQueue: true, value: $2) }

    private static let changes: [Change] = {
        var random = SplitMix(state: Effort.seed)
        let all = [true, false].flatMap { isOfQueue in
            StoreColumn.all(of: isOfQueue ? .ofQueueFile : .ofCacheFile).flatMap { column in
                column.some(1).map { Change(column: column, isOfQueue: isOfQueue, value: $0) }
            }
        }
        return known + all.shuffled(using: &random).prefix(Effort.rounds(6, soaking: all.count))
    }()

    private static let commands = [
        ["queue", "list"], ["queue", "show", "2"], ["queue", "history"], ["queue", "replay"], ["list"], ["stats"],
        ["doctor"], ["verify"],
    ]

    @Test(arguments: changes) func `ends with an exit code`(change: Change) async throws {
        _ = try await cachectl("queue", "hold", "--lane", "uploads")
        for number in 1...3 { _ = try await cachectl("queue", "add", "http://127.0.0.1:1/\(number)", "-X", "POST") }
        try await cachectl.store([StoredEntry(url: "https://a.example/")])
        let store = cachectl.temporary.store
        do {
            let path = change.isOfQueue ? store.replayPath : store.cachePath
            let handle = try SQLiteHandle(path: path, flags: 2, vfs: nil)
            _ = change.column.updates(to: change.value).contains { (try? handle.execute($0)) != nil }
        }
        for command in Self.commands {
            let outcome = try await cachectl(command)
            #expect((0...5).contains(outcome.status), "\(command), DIAMOND_SEED=\(Effort.seed): \(outcome.errors)")
        }
    }
}

import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl doctor for a queue", .limit(minutes: 5)) struct QueueDoctorTests {
    let cachectl = Shell()

    private func fill() async throws {
        for number in 1...3 { _ = try await cachectl("queue", "add", "https://a.example/\(number)", "--key", "k") }
    }

    @Test func `describes a healthy queue, even if there is no cache`() async throws {
        try await fill()
        let outcome = try await cachectl("doctor")
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.text)")
        #expect(outcome.text.contains("\nfile      replay.sqlite (0600), "))
        #expect(
            outcome.text.contains(
                #/\nqueue     schema 4, \d+ pages of 4.0 KiB, journal_mode wal\njobs      3 ready\nhealthy\n$/#))
        let report = try #require(try await cachectl.object("doctor"))
        #expect(((report["queue"] as? [String: Any])?["counts"] as? [String: Int])?["ready"] == 3)
        #expect(cachectl.files().allSatisfy { $0.hasPrefix("replay.") })
        try await cachectl.store([StoredEntry(url: "https://a.example/")])
        #expect(try await cachectl("doctor").text.contains("\nentries   1, "))
    }

    @Test func `prints the number of jobs that no process sends, and calls the store healthy`() async throws {
        try await fill()
        try cachectl.rewriteQueue("UPDATE job SET run_at = run_at - 60000, changed_at = changed_at - 60000")
        let outcome = try await cachectl("doctor")
        // The two others wait for this job.
        let line = "\nunsent    1, which no process sends now: run the program, or 'cachectl queue replay'\n"
        #expect(outcome.status == 0 && outcome.text.contains(line), "\(outcome.text)")
        #expect(outcome.text.hasSuffix("\nhealthy\n"))
        let report = try #require(try await cachectl.object("doctor"))
        #expect((report["queue"] as? [String: Any])?["unsentJobs"] as? Int == 1)
    }

    private static let move = "end the programs that use the store, run 'cachectl queue export', move replay.sqlite* "

    private static let ills: [(what: String, remedy: String, cause: @Sendable (Shell) throws -> Void)] = [
        (
            "the queue has states with a wrong number of jobs: 1", move,
            { try $0.damageQueue("UPDATE census SET count = 9 WHERE state = 4") }
        ),
        (
            "the queue has ordering keys with a wrong first job: 1", move,
            { try $0.damageQueue("UPDATE job SET is_head = 0; UPDATE job SET is_head = 1 WHERE id = 2") }
        ),
        (
            "the queue has jobs without a request: 1", "'cachectl queue discard' them",
            { try $0.damageQueue("DELETE FROM payload WHERE job = 3") }
        ),
        (
            "the queue has running jobs without an owner: 1", move,
            { try $0.rewriteQueue("UPDATE job SET state = 2, owner = 77 WHERE id = 1") }
        ),
        (
            "the queue has damaged jobs, which are not sent: 1, the first is job 2", "'cachectl verify' names them",
            { try $0.damageQueue("UPDATE job SET method = 'DELETE' WHERE id = 2") }
        ),
        (
            "the queue has damaged jobs, which are not sent: 2, the first is job 1", "'cachectl verify' names them",
            { try $0.damageQueue("UPDATE payload SET request = x'00' WHERE job < 3") }
        ),
        (
            "the queue's journal mode is delete, not wal", "cachectl queue list",
            { try $0.damageQueue("PRAGMA journal_mode = DELETE") }
        ),
        (
            "replay.sqlite has the permissions 0644, not 0600", "chmod 600",
            {
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o644], ofItemAtPath: $0.temporary.store.replayPath)
            }
        ),
    ]

    @Test(arguments: ills.indices) func `names each problem of a queue, and the remedy`(index: Int) async throws {
        let ill = Self.ills[index]
        try await fill()
        try ill.cause(cachectl)
        let outcome = try await cachectl("doctor")
        #expect(outcome.status == 1)
        let complaints = outcome.text.split(separator: "\n").filter { $0.hasPrefix("! ") }
        #expect(complaints.count == 1, "\(outcome.text)")
        #expect(complaints.first?.contains(ill.what) == true && complaints.first?.contains(ill.remedy) == true)
    }

    @Test func `finds no problem after a job without a request was discarded`() async throws {
        try await fill()
        try cachectl.damageQueue("DELETE FROM payload WHERE job = 3")
        #expect(try await cachectl("queue", "discard", "3").status == 0)
        #expect(try await cachectl("doctor").status == 0)
    }

    @Test func `reports that an empty file has no schema, and names the command that migrates it`() async throws {
        let (directory, path) = (cachectl.temporary.directory, cachectl.temporary.store.replayPath)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.path)
        _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        let outcome = try await cachectl("doctor")
        let complaint = "! the queue's schema has version 0, not 4: 'cachectl queue list' migrates it"
        #expect(outcome.status == 1 && outcome.text.contains(complaint), "\(outcome.text)")
        #expect(try await cachectl("queue", "list").status == 0)
        #expect(try await cachectl("doctor").status == 0)
    }

    // A link to itself cannot be followed, even by root. The error is that of a directory without read permission.
    @Test func `exits with 4 if it cannot read the directory of the queue`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/")])
        let path = cachectl.temporary.store.replayPath
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        let outcome = try await cachectl("doctor")
        #expect(outcome.status == 4, "\(outcome.text)")
        #expect(outcome.text.contains("! the queue cannot be used: cannot read the directory "), "\(outcome.text)")
    }

    @Test(arguments: [
        ("PRAGMA user_version = 99", "update this program"), ("PRAGMA application_id = 1", "another program"),
    ])
    func `exits with 4 if the queue cannot be used`(sql: String, part: String) async throws {
        try await fill()
        try cachectl.damageQueue(sql)
        let outcome = try await cachectl("doctor")
        #expect(outcome.status == 4 && outcome.text.contains("! the queue cannot be used: "), "\(outcome.text)")
        #expect(outcome.text.contains(part))
    }
}

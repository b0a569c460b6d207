import DiamondInspection
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite(
    "The event file on a full disk", .enabled(if: SmallDisk.isPossible, "mounting a small disk needs Linux and root"),
    .limit(minutes: 2))
struct EventFileDiskTests {
    @Test func `has whole lines, and says later how many are missing`() async throws {
        let disk = try await SmallDisk(kibibytes: 64)
        let directory = disk.directory.appending(path: "store")
        let file = EventFile(Store(directory: directory))
        let filler = disk.directory.appending(path: "filler")
        try Data(count: 40_000).write(to: filler)
        for count in 1...1000 { file.receive(.evicted(count: count)) }
        await file.flush()
        let text = try String(contentsOf: directory.appending(path: "events.jsonl"), encoding: .utf8)
        #expect(text.hasSuffix("}\n"))
        #expect(text.split(separator: "\n").allSatisfy { RecordedEvent(line: $0.utf8) != nil })
        try FileManager.default.removeItem(at: filler)
        file.receive(.stored)
        await file.flush()
        let events = EventFileReader.last(2000, in: directory)
        let dropped = events.filter { $0.kind == .dropped }.compactMap(\.count).reduce(0, +)
        #expect(events.last?.kind == .stored && dropped > 0)
        #expect(dropped + Int64(events.count { $0.kind == .evicted }) == 1000)
        try await disk.remove()
    }
}

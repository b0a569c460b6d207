import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("A parser of event streams") struct EventStreamParserTests {
    typealias Event = ServerSentEvent

    private static func events(
        _ pieces: [[UInt8]],
        limit: Int = 1 << 20
    ) throws -> (events: [Event], parser: EventStreamParser) {
        var parser = EventStreamParser(limit: limit)
        var events: [Event] = []
        for piece in pieces {
            parser.feed(piece)
            while let event = try parser.next() { events.append(event) }
        }
        return (events, parser)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let events: [Event]

        init(_ text: String, _ events: Event...) { (self.text, self.events) = (text, events) }

        var testDescription: String { text.debugDescription }
    }

    @Test(arguments: [
        Row("data: a\n\n", Event(data: "a")),
        Row("data:a\n\ndata:  b\n\n", Event(data: "a"), Event(data: " b")),
        // The standard's own examples.
        Row("data: YHOO\ndata: +2\ndata: 10\n\n", Event(data: "YHOO\n+2\n10")),
        Row(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            Event(data: "first event", lastEventID: "1"), Event(data: "second event"), Event(data: " third event")),
        Row("data\n\ndata\ndata\n\ndata:", Event(data: ""), Event(data: "\n")),
        Row("data:test\n\ndata: test\n\n", Event(data: "test"), Event(data: "test")),
        Row("event: add\ndata: 73857293\n\n", Event(type: "add", data: "73857293")),
        // Ends of lines.
        Row("data: a\r\rdata: b\r\n\r\n", Event(data: "a"), Event(data: "b")),
        Row("data: a\r\n\ndata: b\n\r", Event(data: "a"), Event(data: "b")),
        Row("data: a\r\ndata: b\r\n\r\n", Event(data: "a\nb")),
        // An unfinished event is dropped.
        Row("data: a"), Row("data: a\n"), Row("\n\n\n"), Row(""),
        // One byte order mark at the beginning is removed.
        Row("\u{FEFF}data: a\n\n", Event(data: "a")),
        Row("\u{FEFF}\u{FEFF}data: a\n\n"), Row("\n\u{FEFF}data: a\n\n"),
        // Names of fields.
        Row("Data: a\n data: b\ndata : c\nfoo: d\n\n"),
        Row("event: x\n\ndata: a\n\n", Event(data: "a")),
        Row("event\ndata: a\n\n", Event(data: "a")),
        Row("event: x\nevent: y\ndata: a\n\n", Event(type: "y", data: "a")),
        Row("data: a: b\n\n", Event(data: "a: b")),
        Row("data\u{0}: a\n\n"),
        // Ids.
        Row("id: 1\n\ndata: a\n\n", Event(data: "a", lastEventID: "1")),
        Row("id: 1\nid: 2\u{0}\ndata: a\n\n", Event(data: "a", lastEventID: "1")),
        Row("id: 1\ndata: a\n\nid:\ndata: b\n\n", Event(data: "a", lastEventID: "1"), Event(data: "b")),
        Row("data: a\n\nid: 7", Event(data: "a")),
        // Text.
        Row("data: Zürich 🏔\nevent: Grüße\n\n", Event(type: "Grüße", data: "Zürich 🏔")),
        Row("data: \u{2028}\u{85}\u{0}\n\n", Event(data: "\u{2028}\u{85}\u{0}")),
    ]) func `an event stream is parsed as the standard says, whole and byte by byte`(row: Row) throws {
        let bytes = Array(row.text.utf8)
        #expect(try Self.events([bytes]).events == row.events)
        #expect(try Self.events(bytes.map { [$0] }).events == row.events)
    }

    @Test func `an event stream has U+FFFD for bytes that are not UTF-8`() throws {
        let bytes = Array("data: ".utf8) + [0xC3, 0x28, 0xFF, 0x0A, 0x0A]
        #expect(try Self.events(bytes.map { [$0] }).events == [Event(data: "\u{FFFD}(\u{FFFD}")])
    }

    @Test(arguments: [
        ("retry: 10\n", Duration.milliseconds(10)), ("retry:0\n", .zero), ("retry: 1\nretry: 2\n", .milliseconds(2)),
        ("retry: 10", nil), ("retry: 10s\n", nil), ("retry: -1\n", nil), ("retry:\n", nil), ("retry:  1\n", nil),
        ("retry: ١\n", nil), ("retry: 99999999999999999999\n", .milliseconds(Duration.longest)),
    ]) func `an event stream sets its retry time in digits`(text: String, time: Duration?) throws {
        #expect(try Self.events([Array(text.utf8)]).parser.reconnectionTime == time)
    }

    @Test func `an event stream has a last event id, also where that is empty`() throws {
        #expect(try Self.events([Array("id: 1\ndata: a\n\nid: 2\n".utf8)]).parser.lastEventID == "1")
        #expect(try Self.events([Array("id: 1\ndata: a\n\nid: 2\n\n".utf8)]).parser.lastEventID == "2")
    }

    @Test func `an event stream continues with the id of an earlier stream`() throws {
        var parser = EventStreamParser(lastEventID: "7", limit: 100)
        parser.feed(Array("data: a\n\nid: 8\ndata: b\n\n".utf8))
        #expect(try parser.next() == Event(data: "a", lastEventID: "7"))
        #expect(try parser.next() == Event(data: "b", lastEventID: "8"))
    }

    @Test(arguments: [
        ("data: 12345\n\n", 11, true), ("data: 123456\n\n", 11, false), (": 1234567890", 11, false),
        ("data:1234\ndata:5678\n\n", 9, true), ("data:1234\ndata:56789\n\n", 9, false),
        ("data:1\ndata:1\ndata:1\ndata:1\ndata:1\n\n", 9, true),
        ("data:1\ndata:1\ndata:1\ndata:1\ndata:12\n\n", 9, false),
    ]) func `an event stream has a limit for stored bytes`(text: String, limit: Int, isAllowed: Bool) throws {
        let bytes = Array(text.utf8)
        for pieces in [[bytes], bytes.map { [$0] }] {
            if isAllowed {
                #expect(try Self.events(pieces, limit: limit).events.count == 1)
            } else {
                #expect(throws: EventStreamParser.TooLong(limit: limit)) { try Self.events(pieces, limit: limit) }
            }
        }
    }

    @Test func `an event stream is parsed to the same events however it is cut`() throws {
        var random = SplitMix(state: Effort.seed)
        let words = [
            "data: a", "data:", "data", "event: b", "id: 1", "id", "id: \u{0}", "retry: 5", ": c", "ü🏔", "\u{FEFF}",
            "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", " ", ":",
        ]
        for _ in 0..<Effort.rounds(2000, soaking: 200_000) {
            let count = Int.random(in: 0...30, using: &random)
            var bytes = (0..<count).flatMap { _ in Array(words[Int.random(in: 0..<words.count, using: &random)].utf8) }
            if Bool.random(using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
            let whole = try Self.events([bytes])
            var (pieces, rest) = ([[UInt8]](), bytes[...])
            while !rest.isEmpty {
                let size = Int.random(in: 0...min(rest.count, 7), using: &random)
                pieces.append(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            let cut = try Self.events(pieces)
            #expect(cut.events == whole.events, "\(bytes), seed \(Effort.seed)")
            #expect(cut.parser.lastEventID == whole.parser.lastEventID)
            #expect(cut.parser.reconnectionTime == whole.parser.reconnectionTime)
        }
    }
}

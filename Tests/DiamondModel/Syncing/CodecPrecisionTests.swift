import Diamond
import DiamondModel
import DiamondTestSupport
import Foundation
import Testing

/// A model with values whose JSON has less precision.
final class Measurement: Model {
    static let text = Property(\Measurement.text, "text", codec: .iso8601)
    static let seconds = Property(\Measurement.seconds, "seconds", codec: .secondsSince1970)
    static let milliseconds = Property(\Measurement.milliseconds, "milliseconds", codec: .millisecondsSince1970)
    static let rounded = Property(
        \Measurement.rounded, "rounded",
        codec: Codec(decode: { Double(json: $0) }, encode: { .number(($0 * 100).rounded() / 100) }))
    static let level = Property(nullable: \Measurement.level, "level")
    static let weight = Property(\Measurement.weight, "weight")

    private var _text = Date(timeIntervalSince1970: 0)
    private var _seconds = Date(timeIntervalSince1970: 0)
    private var _milliseconds = Date(timeIntervalSince1970: 0)
    private var _rounded = 0.0
    private var _level: Double?
    private var _weight: Float = 0

    var text: Date {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    var seconds: Date {
        get { read(Self.seconds, from: _seconds) }
        set { write(Self.seconds, from: _seconds, to: newValue) { _seconds = $0 } }
    }

    var milliseconds: Date {
        get { read(Self.milliseconds, from: _milliseconds) }
        set { write(Self.milliseconds, from: _milliseconds, to: newValue) { _milliseconds = $0 } }
    }

    var rounded: Double {
        get { read(Self.rounded, from: _rounded) }
        set { write(Self.rounded, from: _rounded, to: newValue) { _rounded = $0 } }
    }

    var level: Double? {
        get { read(Self.level, from: _level) }
        set { write(Self.level, from: _level, to: newValue) { _level = $0 } }
    }

    var weight: Float {
        get { read(Self.weight, from: _weight) }
        set { write(Self.weight, from: _weight, to: newValue) { _weight = $0 } }
    }

    override class var resource: Request? { Request("notes") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _text = visitor.visit(Self.text, with: _text)
        _seconds = visitor.visit(Self.seconds, with: _seconds)
        _milliseconds = visitor.visit(Self.milliseconds, with: _milliseconds)
        _rounded = visitor.visit(Self.rounded, with: _rounded)
        _level = visitor.visit(Self.level, with: _level)
        _weight = visitor.visit(Self.weight, with: _weight)
    }

    /// Sets every property to a value that its JSON may round.
    func set(_ random: inout some RandomNumberGenerator) {
        func number() -> Double { .random(in: -1e9...4e9, using: &random) }
        text = Date(timeIntervalSince1970: number())
        seconds = Date(timeIntervalSinceReferenceDate: number())
        milliseconds = Date(timeIntervalSinceReferenceDate: number())
        rounded = number()
        level = Bool.random(using: &random) ? number() : nil
        weight = Float(number())
    }
}

/// Values whose JSON has less precision than the property.
@ModelActor
@Suite("Saved values that JSON rounds", .limit(minutes: 5)) struct CodecPrecisionTests {
    private let api = QueuedAPI()

    private nonisolated static let modes: [SaveMode] = [.optimistic, .wait, .queued, .queuedInBackground]

    @Test(arguments: modes, [false, true])
    func `a saved value is not dirty, whatever its JSON rounds`(_ mode: SaveMode, _ hasBody: Bool) async throws {
        let program = try api.start()
        let model = Measurement()
        try program.context.register(model)
        var random = SplitMix(state: 7)
        for round in 0..<20 {
            // The first call creates the object, and needs its id.
            if !hasBody, round > 0 { api.answerOnce(StubAPI.Answer(204)) }
            let isOffline = mode == .queued && round % 2 == 1
            api.isOnline = !isOffline
            try await model.save(mode) { $0.set(&random) }
            api.isOnline = true
            if mode.waitsInQueue { try await program.drain(Measurement.self) }
            #expect(!model.isDirty && model.changedJSON == [:], "round \(round): \(model.changedJSON)")
            let count = api.calls.count
            try await model.save(mode)
            #expect(api.calls.count == count)
        }
    }

    @Test func `an unsaved value that a load confirms is not dirty any more`() async throws {
        let program = try api.start()
        let model = try program.context.model(Measurement.self, from: ["id": 7, "text": "2001-01-01T00:00:00Z"])
        model.text = Date(timeIntervalSince1970: 1000.123_456)
        api.answerOnce(StubAPI.Answer(200, ["id": 7, "text": model["text"] ?? .null]))
        try await model.load()
        #expect(!model.isDirty)
    }
}

extension SaveMode {
    fileprivate var waitsInQueue: Bool { self == .queued || self == .queuedInBackground }
}

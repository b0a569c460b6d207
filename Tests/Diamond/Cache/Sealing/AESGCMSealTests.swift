import Foundation
import Testing

@testable import Diamond

@Suite("AES-GCM") struct AESGCMSealTests {
    private let bytes = Data("bytes".utf8), context = Data("context".utf8)

    @Test(arguments: [16, 24, 32]) func `opens what it has sealed, with another ciphertext each time`(
        length: Int
    ) throws {
        let seal = try AESGCMSeal(key: Data(repeating: 7, count: length))
        let sealed = try (0..<2).map { _ in try seal.seal(bytes, context: context) }
        #expect(sealed[0] != sealed[1])
        #expect(sealed[0].count == bytes.count + 28)
        for one in sealed { #expect(try seal.open(one, keyID: seal.keyID, context: context) == bytes) }
    }

    @Test(arguments: [0, 1, 15, 31, 33]) func `refuses keys of other lengths`(length: Int) {
        let error = #expect(throws: CacheSealError.self) { try AESGCMSeal(key: Data(count: length)) }
        #expect(error?.code == .badKey)
    }

    @Test func `refuses another context, another key, and changed data`() throws {
        let seal = AESGCMSeal.second
        let sealed = try seal.seal(bytes, context: context)
        func code(_ bytes: Data, _ id: String, _ context: Data) -> CacheSealError.Code? {
            #expect(throws: CacheSealError.self) { try seal.open(bytes, keyID: id, context: context) }?.code
        }
        #expect(code(sealed, "second", Data()) == .notAuthentic)
        #expect(code(sealed, "first", context) == .notAuthentic)
        #expect(code(sealed, "third", context) == .unknownKey)
        #expect(code(sealed.dropLast(), "second", context) == .notAuthentic)
        #expect(code(Data(), "second", context) == .notAuthentic)
    }

    @Test func `shows the ID of a key, and never the key`() throws {
        let key = AESGCMSeal.firstKey
        let seal = try AESGCMSeal(key: key, olderKeys: ["b": Data(repeating: 0x41, count: 32)])
        #expect(seal.keyID == AESGCMSeal.id(of: key))
        #expect(seal.keyID.count == 16)
        var dump = ""
        Swift.dump(seal, to: &dump)
        var configuration = Engine.Configuration(store: nil)
        configuration.seal = seal
        Swift.dump(configuration, to: &dump)
        for text in [dump, "\(seal)", String(reflecting: seal), "\(configuration)"] {
            #expect(text.contains(seal.keyID))
            #expect(!text.contains("SymmetricKey") && !text.contains("the first") && !text.contains("AAAA"), "\(text)")
        }
    }
}

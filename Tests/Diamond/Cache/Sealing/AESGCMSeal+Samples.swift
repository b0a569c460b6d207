import Foundation

@testable import Diamond

extension AESGCMSeal {
    static let firstKey = Data("the first key, of thirty-two by…".utf8.prefix(32))
    private static let secondKey = Data(repeating: 2, count: 32)

    static var first: Self { make(firstKey, "first") }
    /// A seal after a change of keys.
    static var second: Self { make(secondKey, "second", ["first": firstKey]) }
    static var onlySecond: Self { make(secondKey, "second") }
    /// A seal after another change of keys, without the first key.
    static var third: Self { make(Data(repeating: 5, count: 32), "third", ["second": secondKey]) }
    static var other: Self { make(Data(repeating: 3, count: 32), "other") }
    /// A seal with the name of another key.
    static var impostor: Self { make(Data(repeating: 4, count: 32), "first") }

    private static func make(_ key: Data, _ id: String, _ older: [String: Data] = [:]) -> Self {
        do { return try Self(key: key, id: id, olderKeys: older) } catch { fatalError("\(error)") }
    }
}

extension CacheSeal where Self == AESGCMSeal {
    static var first: AESGCMSeal { AESGCMSeal.first }
    static var second: AESGCMSeal { AESGCMSeal.second }
    static var onlySecond: AESGCMSeal { AESGCMSeal.onlySecond }
    static var third: AESGCMSeal { AESGCMSeal.third }
    static var other: AESGCMSeal { AESGCMSeal.other }
    static var impostor: AESGCMSeal { AESGCMSeal.impostor }
}

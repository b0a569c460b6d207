import Foundation
import Testing

@testable import Diamond

@Suite("XXH3") struct XXH3Tests {
    /// Computed by the reference implementation: xxHash 0.8, `XXH3_64bits`.
    private static let values: [(count: Int, hash: UInt64)] = [
        (0, 0x2D06800538D394C2), (1, 0x4C5CCA45D0F4811F), (2, 0xA7E250C97710FF27),
        (3, 0x15F7093B173D005C), (4, 0xDCA012F95811B6B9), (7, 0x7561869C23DA3C1B),
        (8, 0xDEC6A9A43575982E), (9, 0xCBE393399F17FFBD), (16, 0x7E484C18D74895D0),
        (17, 0x208BDE5EE2BED407), (32, 0x03DF0AC5255D1446), (33, 0x199A362122D71F46),
        (64, 0xDD30702AB46B3745), (65, 0xFAB36B851B94CE20), (96, 0xD245CD2541582982),
        (97, 0x60E3E1D0D43785B3), (128, 0xF92B70EAA21A6288), (129, 0xF8F76713F2BB60FA),
        (144, 0xD87F00765EE3D89E), (239, 0xCAA9B7A588464745), (240, 0xCCC7375172C41F03),
        (241, 0x0B3B630948CE4A00), (255, 0x89932170686CDD9A), (256, 0xEC85B75BAFE6CA74),
        (512, 0xD2FE4E6F8AEB270F), (1023, 0xD7C2BEDF4474036A), (1024, 0x802A7B75D723B480),
        (1025, 0x43BD4CAFE515B9DA), (1088, 0xC45C2ED6051F0836), (1089, 0x6A8DD0D9DB6ACE18),
        (2048, 0x54C734498ADAA943), (2049, 0xE77F64505C024F98), (131072, 0x7B09E6F147B9E032),
    ]

    @Test(arguments: values) func `has the reference's value for every kind of length`(count: Int, hash: UInt64) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ 7) }
        #expect(bytes.withUnsafeBytes { XXH3.hash($0) } == hash)
        // At an odd address.
        #expect(([0] + bytes).withUnsafeBytes { XXH3.hash(.init(rebasing: $0.dropFirst())) } == hash)
    }

    @Test(arguments: [1, 3, 8, 16, 17, 128, 129, 240, 241, 1024, 1025, 3000])
    func `differs for each changed bit`(count: Int) {
        var bytes = Data.noise(count)
        var hashes = [bytes.withUnsafeBytes { XXH3.hash($0) }]
        for bit in 0..<count * 8 {
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            hashes.append(bytes.withUnsafeBytes { XXH3.hash($0) })
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        #expect(Set(hashes).count == hashes.count)
    }
}

# output0 = 2 x of the sample: core 0 the left half of each row, core 1 the right half.
#
#   build/neff asm examples/double.s --into build/sample.neff -o double.neff
#   build/neff run double.neff --random --output out.npy --races --strict
#
# pool moves rows in, dve doubles them, pool moves them out; a wait stands where one needs what
# another has made. pe, act and sp have nothing to do, but their streams replace the sample's.

.core 0
.engine pool
        # x in device memory to 128 partitions of SBUF, 32 fp16 each; raises sem24 by 16 when done
        DMA_DIRECT2D src=table[0]=x step(128) count(128) bytes(64) fp16, dst=sbuf[p0, 0x4000] step(262144) count(128) bytes(64) fp16, semaphore=24, increment=16
        # once dve has doubled them: out to output0
        DMA_DIRECT2D src=sbuf[p0, 0x4100] step(262144) count(128) bytes(128) fp32, dst=table[2]=output0 step(256) count(128) bytes(128) fp32, semaphore=25, increment=16, wait sem6>=1
        # a program ends when its transfers are over
        NOP wait sem25>=16
.engine dve
        TENSOR_SCALAR src=sbuf[p0, 0x4000] step(1) count(32) fp16, dst=sbuf[p0, 0x4100] step(1) count(32) fp32, op0=multiply, imm0=2.0, channels=128, wait sem24>=16, +sem6
.engine pe
        NOP
.engine act
        NOP
.engine sp
        NOP

.core 1
.engine pool
        DMA_DIRECT2D src=table[0]=x+64 step(128) count(128) bytes(64) fp16, dst=sbuf[p0, 0x4000] step(262144) count(128) bytes(64) fp16, semaphore=24, increment=16
        DMA_DIRECT2D src=sbuf[p0, 0x4100] step(262144) count(128) bytes(128) fp32, dst=table[2]=output0+128 step(256) count(128) bytes(128) fp32, semaphore=25, increment=16, wait sem6>=1
        NOP wait sem25>=16
.engine dve
        TENSOR_SCALAR src=sbuf[p0, 0x4000] step(1) count(32) fp16, dst=sbuf[p0, 0x4100] step(1) count(32) fp32, op0=multiply, imm0=2.0, channels=128, wait sem24>=16, +sem6
.engine pe
        NOP
.engine act
        NOP
.engine sp
        NOP

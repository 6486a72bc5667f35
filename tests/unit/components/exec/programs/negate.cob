      *> Every number of a record comes back with the other sign, as
      *> GnuCOBOL stores each usage.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. NEGATE.
       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT NUMBERS-IN ASSIGN TO "/dev/stdin"
               ORGANIZATION IS SEQUENTIAL.
           SELECT NUMBERS-OUT ASSIGN TO "/dev/stdout"
               ORGANIZATION IS SEQUENTIAL.
       DATA DIVISION.
       FILE SECTION.
       FD  NUMBERS-IN.
       01  GIVEN.
           05  NAME               PIC XXX.
           05  ZONED              PIC S9(5)V99.
           05  LEADING-SIGN       PIC S9(3) SIGN LEADING.
           05  APART              PIC S9(3) SIGN TRAILING SEPARATE.
           05  PACKED             PIC S9(7)V99 COMP-3.
           05  SMALL              PIC S9(2) COMP.
           05  HALF               PIC S9(4) COMP.
           05  FULL               PIC S9(7)V99 BINARY.
           05  LONGEST            PIC S9(16)V99 COMP.
           05  OWN-ORDER          PIC S9(9) COMP-5.
       FD  NUMBERS-OUT.
       01  ANSWER                 PIC X(41).
       PROCEDURE DIVISION.
       MAIN-LINE.
           OPEN INPUT NUMBERS-IN OUTPUT NUMBERS-OUT
           READ NUMBERS-IN
               AT END STOP RUN
           END-READ
           COMPUTE ZONED = 0 - ZONED
           COMPUTE LEADING-SIGN = 0 - LEADING-SIGN
           COMPUTE APART = 0 - APART
           COMPUTE PACKED = 0 - PACKED
           COMPUTE SMALL = 0 - SMALL
           COMPUTE HALF = 0 - HALF
           COMPUTE FULL = 0 - FULL
           COMPUTE LONGEST = 0 - LONGEST
           COMPUTE OWN-ORDER = 0 - OWN-ORDER
           WRITE ANSWER FROM GIVEN
           CLOSE NUMBERS-IN NUMBERS-OUT
           STOP RUN.
